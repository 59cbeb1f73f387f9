// The console as its users have it: the built binary, its own model, a browser. Each test is a sentence; the last line counts.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
// Of a busy machine.
const PATIENCE = 30_000;
const home = mkdtempSync(join(tmpdir(), "isogloss-console-"));
const running = [];

// A proxy of the test's own: where clients and where operators ask.
async function serve(...flags) {
  const child = spawn(process.env.ISOGLOSS_BIN, ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", ...flags],
    { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, RUST_LOG: "off" } });
  running.push(child);
  const lines = createInterface({ input: child.stdout });
  const [, listen, admin] = await new Promise((resolve, reject) => {
    child.once("exit", () => reject(new Error("the proxy ended at once")));
    lines.on("line", (line) => { const found = line.match(/listening on (\S+), admin on (\S+)/); if (found) resolve(found); });
  });
  const until = Date.now() + PATIENCE;
  while (!(await fetch(admin + "/readyz")).ok) {
    assert(Date.now() < until, "the proxy does not become ready");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { listen, admin };
}

const SECRET = "the client's own words";
const KEY = "sk-proj-abcdefghijklmnop1234";
const schema = { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } }, required: ["name", "age"], additionalProperties: false };
const person = (more) => ({ model: "isogloss-builtin", max_tokens: 120, messages: [{ role: "user", content: "Ada is 36 years old. " + SECRET + " " + KEY }],
  response_format: { type: "json_schema", json_schema: { name: "person", strict: true, schema } }, ...more });
const weather = { name: "get_weather", description: "The weather of a city", input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };
const MARKUP = "<img src=x onerror=document.title='broken'>";

async function ask(proxy, path, body) {
  const reply = await fetch(proxy.listen + path, { method: "POST", headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" }, body: JSON.stringify(body) });
  await reply.text();
  return { status: reply.status, id: reply.headers.get("x-isogloss-request-id") };
}

async function traffic(proxy) {
  const asked = {
    whole: await ask(proxy, "/v1/chat/completions", person()),
    streamed: await ask(proxy, "/v1/chat/completions", person({ stream: true })),
    anthropic: await ask(proxy, "/v1/messages", { model: "isogloss-builtin", max_tokens: 120, messages: [{ role: "user", content: "What is the weather in Rome?" }], tools: [weather], tool_choice: { type: "any" } }),
    wrong: await ask(proxy, "/v1/chat/completions", person({ response_format: { type: "json_schema", json_schema: { name: "x", schema: { type: "nonsense" } } } })),
    hostile: await ask(proxy, "/v1/chat/completions", person({ model: MARKUP, messages: [{ role: "user", content: MARKUP }] })),
  };
  assert.equal(asked.whole.status, 200);
  assert.equal(asked.anthropic.status, 200);
  assert.equal(asked.wrong.status, 400);
  return asked;
}

const bodies = await serve("--record", "bodies");
const asked = await traffic(bodies);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });

// A page that remembers what went wrong in it, and whom it asked.
async function open(at, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.faults = [];
  page.asked = new Set();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) page.faults.push(message.text()); });
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("request", (request) => page.asked.add(new URL(request.url()).origin));
  await page.goto(at);
  return page;
}

async function accessible(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  assert.deepEqual(violations.map((one) => one.id + ": " + one.nodes.map((node) => node.target + " " + node.failureSummary).join("; ")), []);
}
async function pictured(page, name, size) {
  if (!process.env.SCREENSHOTS) return;
  mkdirSync(process.env.SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(process.env.SCREENSHOTS, name + ".png"), fullPage: !size });
}
const said = (page, text) => page.getByText(text, { exact: false }).first().waitFor();
// Newer engines say which data URL they made of nothing.
const origins = (page) => [...page.asked].filter((origin) => origin !== "null");

const tests = {
  async "the overview shows what each server enforces, and what was asked"() {
    const page = await open(bodies.admin + "/");
    await said(page, "is met by");
    await said(page, "json_schema");
    await said(page, "Worker");
    const figures = await page.locator("section[aria-label=Now]").innerText();
    assert.match(figures, /requests\s*\n\s*5/);
    await accessible(page);
    await pictured(page, "overview");
    assert.deepEqual(page.faults, []);
    assert.deepEqual(origins(page), [bodies.admin]);
  },

  async "requests come by themselves, and are filtered"() {
    const page = await open(bodies.admin + "/#requests");
    const rows = page.locator("#rows tr");
    await page.waitForFunction(() => document.querySelectorAll("#rows tr").length === 5);
    await page.getByLabel("outcome").selectOption("client_error");
    assert.ok(await rows.count() >= 1 && await rows.count() < 5);
    await page.getByLabel("outcome").selectOption("");
    await page.getByLabel("dialect").selectOption("messages");
    assert.equal(await rows.count(), 1);
    await page.getByLabel("dialect").selectOption("");
    const { status } = await ask(bodies, "/v1/chat/completions", person());
    assert.equal(status, 200);
    await page.waitForFunction(() => document.querySelectorAll("#rows tr").length === 6);
    await accessible(page);
    await pictured(page, "requests");
    assert.deepEqual(page.faults, []);
  },

  async "one request's way is shown from the client to the verdict"() {
    const page = await open(bodies.admin + "/#requests/" + asked.anthropic.id);
    for (const step of ["The client asks", "Contract", "Plan", "sent", "answered 200", "The client gets 200", "Verdict"]) await said(page, step);
    assert.match(await page.locator("main").innerText(), /get_weather/);
    assert.ok(await page.locator("mark").count() > 0, "differences are marked");
    await accessible(page);
    await pictured(page, "request");
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download as a replay file" }).click()]);
    const saved = JSON.parse(readFileSync(await download.path(), "utf8"));
    assert.equal(saved.id, asked.anthropic.id);
    assert.equal(JSON.parse(saved.request.text).tool_choice.type, "any");
    await page.getByRole("button", { name: "Open in the playground" }).click();
    assert.equal(await page.getByLabel("the client's route").inputValue(), "/v1/messages");
    assert.deepEqual(page.faults, []);
  },

  async "what is copied is a command that explains the request"() {
    const page = await open(bodies.admin + "/#requests/" + asked.whole.id, { permissions: ["clipboard-read", "clipboard-write"] });
    const copied = async (name) => {
      await page.getByRole("button", { name, exact: true }).click();
      await said(page, "Copied");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    const command = await copied("Copy as isogloss explain");
    assert.equal(command, `isogloss explain --admin ${bodies.admin} --request ${asked.whole.id}`);
    const { stdout } = await promisify(execFile)(process.env.ISOGLOSS_BIN, command.split(" ").slice(1));
    assert.match(stdout, /verified\s+json_schema/);
    assert.match(stdout, /reply satisfies the contract/);
    await page.reload();
    assert.match(await copied("Copy as curl"), /^curl -s http:\/\/127.0.0.1:\d+\/v1\/chat\/completions .*'\{/s);
  },

  async "keys that a client wrote are not recorded, its words are"() {
    const entry = await (await fetch(bodies.admin + "/requests/" + asked.whole.id)).text();
    assert.ok(entry.includes(SECRET));
    assert.ok(!entry.includes(KEY));
  },

  async "what a request says is text and never markup"() {
    const page = await open(bodies.admin + "/#requests/" + asked.hostile.id);
    await said(page, MARKUP);
    assert.equal(await page.locator("img").count(), 0);
    assert.notEqual(await page.title(), "broken");
    assert.deepEqual(page.faults, []);
  },

  async "the policy lets no other code run"() {
    const page = await open(bodies.admin + "/");
    await said(page, "is met by");
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'broken'";
      document.body.append(script);
    });
    assert.notEqual(await page.title(), "broken");
    assert.ok(page.faults.some((fault) => fault.includes("Content Security Policy")), "the browser says why");
  },

  async "the playground explains a request, underlines its losses and judges a reply"() {
    const page = await open(bodies.admin + "/#playground");
    await page.getByLabel("an example").selectOption("Chat: a JSON Schema");
    await page.getByLabel("server: dialect and version").fill("sglang@0.4.6");
    const reply = { id: "x", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "{\"name\":\"ada\",\"age\":-1}" } }] };
    await page.getByLabel("a reply of the server's").fill(JSON.stringify(reply));
    await page.getByRole("button", { name: "Explain" }).click();
    await said(page, "What the server gets");
    await said(page, "breaks the contract");
    await page.getByLabel("server: dialect and version").fill("anthropic");
    await page.getByLabel("a reply of the server's").fill("");
    await page.getByRole("button", { name: "Explain" }).click();
    await page.locator("pre .lost").first().waitFor();
    await accessible(page);
    await pictured(page, "playground");
    await page.getByLabel("the request's body").fill("{\"messages\": 1}");
    await page.getByRole("button", { name: "Explain" }).click();
    await said(page, "Refused");
    assert.deepEqual(page.faults, []);
  },

  async "the playground sends a request to an upstream, and leads to its way"() {
    const page = await open(bodies.admin + "/#playground");
    await page.getByLabel("an example").selectOption("Chat: a tool is required");
    await page.getByRole("button", { name: "Send it to an upstream" }).click();
    await said(page, "Sent: 200");
    await page.getByRole("link", { name: "Its way through the house" }).click();
    await said(page, "The client asks");
    assert.deepEqual(page.faults, []);
  },

  async "whoever comes when all places to listen are taken sees the page all the same"() {
    const listening = [];
    for (let place = 0; place < 8; place++) {
      const stop = new AbortController();
      listening.push(stop);
      await fetch(bodies.admin + "/events", { signal: stop.signal });
    }
    const page = await open(bodies.admin + "/#requests");
    await said(page, "the newest first");
    const before = await page.locator("#rows tr").count();
    await ask(bodies, "/v1/chat/completions", person());
    await page.waitForFunction((before) => document.querySelectorAll("#rows tr").length > before, before);
    listening.forEach((stop) => stop.abort());
  },

  async "each view is reached by the keyboard alone"() {
    const page = await open(bodies.admin + "/");
    await said(page, "is met by");
    const pressed = [];
    for (let press = 0; press < 4; press++) {
      await page.keyboard.press("Tab");
      pressed.push(await page.evaluate(() => document.activeElement.textContent));
    }
    assert.deepEqual(pressed, ["To the content", "Overview", "Requests", "Playground"]);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Explain" }).waitFor();
  },

  async "on a phone and in the dark nothing is cut off or unreadable"() {
    for (const colorScheme of ["dark", "light"]) {
      const page = await open(bodies.admin + "/", { viewport: { width: 390, height: 800 }, colorScheme });
      for (const [view, text] of [["overview", "is met by"], ["requests", "the newest first"], ["requests/" + asked.whole.id, "Verdict"], ["playground", "Explain"]]) {
        await page.evaluate((view) => { location.hash = "#" + view; }, view);
        await said(page, text);
        const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(width <= room, `${view} is ${width} wide, of ${room}`);
        await accessible(page);
        await pictured(page, `phone-${colorScheme}-${view.split("/").join("-").slice(0, 14)}`, true);
      }
      assert.deepEqual(page.faults, []);
    }
  },

  async "without bodies the page has sizes, and says so"() {
    const shapes = await serve();
    const { whole } = await traffic(shapes);
    const page = await open(shapes.admin + "/#requests/" + whole.id);
    await said(page, "its bytes are not recorded");
    await said(page, "--record bodies");
    const text = await page.locator("body").innerText();
    assert.ok(!text.includes(SECRET));
    assert.ok(!(await (await fetch(shapes.admin + "/requests/" + whole.id)).text()).includes(SECRET));
    assert.deepEqual(page.faults, []);
  },

  async "a browser is asked for the token, and then shows everything"() {
    const file = join(home, "token");
    writeFileSync(file, "a secret of operators\n");
    const closed = await serve("--admin-token-file", file);
    assert.equal((await fetch(closed.admin + "/requests")).status, 401);
    assert.equal((await fetch(closed.admin + "/metrics")).status, 200);
    const page = await open(closed.admin + "/", { httpCredentials: { username: "operator", password: "a secret of operators" } });
    await said(page, "is met by");
    const printed = promisify(execFile)(process.env.ISOGLOSS_BIN, ["top", "--once", "--admin", closed.admin, "--admin-token-file", file]);
    assert.match((await printed).stdout, /ready/);
    await assert.rejects(promisify(execFile)(process.env.ISOGLOSS_BIN, ["top", "--once", "--admin", closed.admin]), /401/);
  },

  async "isogloss top shows the same in a terminal"() {
    const { stdout } = await promisify(execFile)(process.env.ISOGLOSS_BIN, ["top", "--once", "--admin", bodies.admin]);
    for (const words of ["upstreams", "worker", "the last requests", "messages → worker", "client_error", "tokens a second"]) assert.ok(stdout.includes(words), words + "\n" + stdout);
  },
};

let failed = 0;
const closed = async () => { for (const context of browser.contexts()) await context.close(); };
for (const [name, test] of Object.entries(tests)) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
  try {
    await test();
    console.log("ok   " + name);
  } catch (error) {
    failed += 1;
    console.log("FAILED " + name + "\n" + String(error.stack || error).split("\n").slice(0, 30).map((line) => "    " + line).join("\n"));
  }
  await closed();
}
await browser.close();
for (const child of running) child.kill();
rmSync(home, { recursive: true, force: true });
const all = process.env.ONLY ? "some" : Object.keys(tests).length - failed;
console.log(`${all} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
