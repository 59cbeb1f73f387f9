// Judges every JSON that left as a success against its schema, with `ajv`.
// Arguments: the folder with `schemas.json` and `claims.jsonl`. Last line: how many are right and wrong.

import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import Ajv from "ajv/dist/2020.js";

const folder = process.argv[2];
const ajv = new Ajv.default({ strict: false });
const schemas = JSON.parse(readFileSync(join(folder, "schemas.json"), "utf8"));
const validators = new Map(
  Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema)]),
);

const judge = ({ schema, text }) => {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return error.message;
  }
  const validate = validators.get(schema);
  return validate(value) ? null : ajv.errorsText(validate.errors);
};

let right = 0;
let wrong = 0;
for await (const line of createInterface({ input: createReadStream(join(folder, "claims.jsonl")) })) {
  const claim = JSON.parse(line);
  const fault = judge(claim);
  if (fault === null) {
    right += 1;
  } else {
    wrong += 1;
    console.log(`ADVERSARY_ONLY=${claim.seed}  ${claim.dialect}  ${claim.schema}: ${fault}: ${claim.text}`);
  }
}
console.log(`ajv: ${right} right, ${wrong} wrong`);
process.exit(wrong > 0 ? 1 : 0);
