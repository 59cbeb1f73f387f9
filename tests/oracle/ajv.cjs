// Verdicts of ajv: lines of {"schema": …, "instance": …} come in; true, false, or null where the
// schema cannot be compiled, go out.
const { createInterface } = require("node:readline");
const formats = require("ajv-formats");
const drafts = {
  "04": require("ajv-draft-04"),
  "06": require("ajv").default,
  "07": require("ajv").default,
  "2019-09": require("ajv/dist/2019").default,
  "2020-12": require("ajv/dist/2020").default,
};

function draft(schema) {
  const named = /draft[-/](04|06|07|2019-09|2020-12)\//.exec((schema && schema.$schema) || "");
  return named ? named[1] : "2020-12";
}

function compile(schema) {
  try {
    const version = draft(schema);
    const ajv = new drafts[version]({ strict: false, logger: false, allErrors: false });
    if (version === "06") ajv.addMetaSchema(require("ajv/dist/refs/json-schema-draft-06.json"));
    formats(ajv);
    require("ajv-formats-draft2019")(ajv);
    return ajv.compile(schema);
  } catch {
    return null;
  }
}

let last = "", check = null;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { schema, instance } = JSON.parse(line);
  const text = JSON.stringify(schema);
  if (text !== last) [last, check] = [text, compile(schema)];
  let verdict = null;
  try {
    if (check) verdict = check(instance);
  } catch {}
  process.stdout.write(`${verdict}\n`);
});
