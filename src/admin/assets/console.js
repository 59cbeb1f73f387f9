"use strict";
// The page's own program. Whatever comes from a request becomes text nodes, never markup.

const main = document.getElementById("main");
const state = { overview: null, before: null, requests: [], seen: 0, filter: {}, paused: false };

// --- making nodes ---

function el(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const tag = (text, tone) => el("span", { class: "tag " + (tone || "") }, String(text));
const code = (text) => el("code", {}, String(text));

function table(caption, heads, rows, empty) {
  if (!rows.length) return el("p", { class: "soft" }, empty || "none yet");
  const number = (head) => head.startsWith("#") ? "n" : undefined;
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) =>
      el("th", { scope: "col", class: number(head) }, head.replace("#", ""))))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, at) =>
      el("td", { class: number(heads[at]) }, cell)))))));
}
const figures = (pairs) => el("dl", { class: "figures" }, pairs.filter(Boolean).map(([name, value]) =>
  el("div", {}, el("dt", {}, name), el("dd", {}, value))));
const facts = (pairs) => el("dl", { class: "facts" }, pairs.filter((pair) => pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== "")
  .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
const card = (title, ...children) => el("section", { class: "card", "aria-label": title }, el("h2", {}, title), children);
const wide = (node) => { node.classList.add("wide"); return node; };

// --- numbers ---

const bytes = (count) => count >= 1 << 30 ? (count / 2 ** 30).toFixed(1) + " GiB" : count >= 1 << 20
  ? (count / 2 ** 20).toFixed(1) + " MiB" : count >= 1024 ? (count / 1024).toFixed(1) + " KiB" : count + " B";
function time(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 1e-3) return Math.round(seconds * 1e6) + " µs";
  return seconds < 1 ? (seconds * 1e3).toFixed(seconds < 0.01 ? 2 : 0) + " ms" : seconds.toFixed(1) + " s";
}
const ms = (value) => value === null || value === undefined ? "–" : time(value / 1e3);
const share = (part, whole) => whole ? Math.round(100 * part / whole) + " %" : "–";
const clock = (at) => new Date(at).toLocaleTimeString([], { hour12: false });

// --- metrics ---

const family = (name) => (state.overview && state.overview.families[name]) || [];
const sum = (name, want) => family(name).filter((one) => Object.entries(want || {}).every(([key, value]) => one.labels[key] === value))
  .reduce((all, one) => all + (one.value !== undefined ? one.value : one.count), 0);
function rate(name) {
  const before = state.before;
  if (!before || !(before.families[name])) return null;
  const was = before.families[name].reduce((all, one) => all + (one.value || 0), 0);
  return Math.max(0, (sum(name) - was) / ((state.overview.at - before.at) / 1e3));
}
const counted = (name, heads, labels) => table("counted by " + heads.join(" and "), [...heads, "#times"],
  family(name).filter((one) => one.value > 0).sort((a, b) => b.value - a.value)
    .map((one) => [...labels.map((label) => one.labels[label]), String(one.value)]));

// --- the first view ---

const TONE = { ready: "good", enforces: "good", enforced: "good", native: "good", ok: "good", down: "bad", refuse: "bad",
  refused: "bad", ignored: "bad", violated: "bad", upstream_error: "bad", proxy_error: "bad", enforces_nothing: "bad", key_refused: "bad",
  instruct: "warn", unclear: "warn", loading: "warn", passed: "warn", upstream_limited: "warn", client_error: "warn", client_gone: "warn" };
const outcome = (word) => tag(word, TONE[word] || "warn");

function upstream(one, index) {
  const ready = state.overview.readiness.upstreams[index] || {};
  const found = new Map();
  for (const finding of (one.probe && one.probe.findings) || []) {
    if (!found.has(finding.demand)) found.set(finding.demand, finding);
  }
  const rows = [];
  for (const [group, demands] of Object.entries(one.strategies || {})) {
    for (const [demand, strategy] of Object.entries(demands)) {
      const finding = found.get(demand) || found.get(group + ":" + demand) || found.get(group);
      rows.push([demand, group.replaceAll("_", " "), tag(strategy, TONE[strategy]),
        finding ? tag(finding.verdict, TONE[finding.verdict]) : el("span", { class: "soft" }, "not asked")]);
    }
  }
  return card("Upstream " + one.url, facts([
    ["state", tag(one.state, TONE[one.state] || "warn")],
    ["dialect", ready.dialect || "not known yet"],
    ["enforcement", tag((ready.enforcement || "").replaceAll("_", " "), TONE[ready.enforcement])],
    ["why", ready.reason],
    ["markup", one.markup && one.markup.format + ", by " + one.markup.from],
  ]), table("demands met by " + one.url, ["demand", "kind", "is met by", "asked, it"], rows, "its dialect is not known yet"));
}

function overview() {
  const { families, capabilities, journal } = state.overview;
  const requests = family("isogloss_requests_total");
  const all = sum("isogloss_requests_total");
  const good = sum("isogloss_requests_total", { outcome: "ok" });
  const hits = sum("isogloss_grammar_cache_hits_total"), misses = sum("isogloss_grammar_cache_misses_total");
  const kept = sum("isogloss_translation_cache_hits_total"), written = sum("isogloss_translation_cache_misses_total");
  const strategies = family("isogloss_added_seconds").map((own) => {
    const theirs = family("isogloss_upstream_seconds").find((one) => one.labels.strategy === own.labels.strategy);
    return [own.labels.strategy, String(own.count), time(own.sum / own.count), time(own.p99),
      theirs && theirs.count ? time(theirs.sum / theirs.count) : "–"];
  }).filter((row) => row[1] !== "0");
  const worker = families.isogloss_worker_slots && card("Worker", figures([
    ["tokens a second", rate("isogloss_worker_completion_tokens_total") === null ? "–" : rate("isogloss_worker_completion_tokens_total").toFixed(0)],
    ["batch", sum("isogloss_worker_running") + " of " + sum("isogloss_worker_slots")],
    ["queue", String(sum("isogloss_worker_waiting"))],
    ["tokens in all", String(sum("isogloss_worker_completion_tokens_total"))],
    ["a token's mask", time(family("isogloss_worker_mask_seconds").reduce((a, one) => a + one.sum, 0) / (sum("isogloss_worker_mask_seconds") || NaN))],
    ["forward passes", String(sum("isogloss_worker_steps_total"))],
  ]), capabilities.worker && facts([["models", (capabilities.worker.models || []).join(", ")], ["device", capabilities.worker.device],
    ["restarts", String(capabilities.worker.restarts)]]));
  return el("div", { class: "grid" },
    wide(card("Now", figures([
      ["requests", String(all)], ["of them right", share(good, all)], ["in flight", String(sum("isogloss_requests_in_flight"))],
      ["open streams", String(sum("isogloss_streams_open"))], ["memory", bytes(sum("process_resident_memory_bytes"))],
      ["remembered", bytes(journal.bytes)], ["sent again", String(sum("isogloss_retries_total"))],
    ]))),
    capabilities.upstreams.map(upstream),
    card("Time", table("time by strategy", ["strategy", "#requests", "#added", "#p99 ≤", "#upstream"], strategies)),
    card("Outcomes", table("how many ended how", ["client", "server", "strategy", "outcome", "#times"],
      requests.filter((one) => one.value).sort((a, b) => b.value - a.value).slice(0, 12).map((one) =>
        [one.labels.client_dialect, one.labels.server_dialect, one.labels.strategy, outcome(one.labels.outcome), String(one.value)]))),
    card("Violations", counted("isogloss_violations_total", ["rule", "what was done"], ["rule", "action"])),
    card("Losses", counted("isogloss_losses_total", ["field", "made sure of by"], ["field", "enforced_by"])),
    card("Mended", counted("isogloss_repairs_total", ["what"], ["repair"])),
    card("Caches", table("how often caches helped", ["cache", "#found", "#entries", "#size"], [
      ["compiled constraints", share(hits, hits + misses), String(sum("isogloss_grammar_cache_entries")), bytes(sum("isogloss_grammar_cache_bytes"))],
      ["written for servers", share(kept, kept + written), String(sum("isogloss_translation_cache_entries")), bytes(sum("isogloss_translation_cache_bytes"))],
    ]), el("h3", {}, "Compiling"), table("how long compiling took", ["kind", "#times", "#mean", "#slowest ≤"],
      family("isogloss_grammar_compile_seconds").filter((one) => one.count).sort((a, b) => b.most - a.most)
        .map((one) => [one.labels.kind, String(one.count), time(one.sum / one.count), time(one.most)]))),
    worker);
}

// --- requests ---

function wanted(one) {
  const { outcome, strategy, model, dialect } = state.filter;
  return (!outcome || one.outcome === outcome) && (!strategy || one.strategy === strategy)
    && (!model || (one.model || "").includes(model))
    && (!dialect || one.client === dialect || one.server === dialect || (one.server || "").split("@")[0] === dialect);
}

function row(one, fresh) {
  return el("tr", { class: fresh && "fresh" },
    el("td", {}, el("a", { href: "#requests/" + one.id }, clock(one.time))),
    el("td", {}, one.client || one.path, " → ", one.server || one.upstream || "–"),
    el("td", { class: "optional" }, one.model || ""),
    el("td", {}, one.strategy || "–"),
    el("td", {}, outcome(one.outcome), one.code ? [" ", code(one.code)] : null),
    el("td", { class: "n" }, ms(one.duration_ms)),
    el("td", { class: "n optional" }, ms(one.own_ms)),
    el("td", { class: "n optional" }, ms(one.upstream_ms)),
    el("td", { class: "n" }, one.losses || ""),
    el("td", { class: "n" }, one.retries || ""),
    el("td", { class: "n optional" }, bytes(one.request_bytes) + " / " + bytes(one.reply_bytes)));
}

function choice(label, name, values) {
  const known = [...new Set(values.filter(Boolean))].sort();
  if (state.filter[name] && !known.includes(state.filter[name])) known.push(state.filter[name]);
  return el("label", {}, label, el("select", { name, onchange: filtered },
    el("option", { value: "" }, "any"), known.map((value) => el("option", { value, selected: state.filter[name] === value }, value))));
}
function filtered(event) {
  state.filter[event.target.name] = event.target.value;
  rows();
}

function rows(fresh) {
  const body = document.getElementById("rows");
  if (!body) return;
  const shown = state.requests.filter(wanted).slice(0, 300);
  body.replaceChildren(...shown.map((one) => row(one, fresh && fresh.has(one.id))));
  document.getElementById("shown").textContent = shown.length
    ? shown.length + " of " + state.requests.length + " requests, the newest first"
    : state.requests.length ? "none of " + state.requests.length + " requests is so" : "no request has ended yet";
}

function requests() {
  const of = (name) => state.requests.map((one) => one[name]);
  const off = state.overview && state.overview.journal.recording === "off";
  return card("Requests",
    off && el("p", {}, "Nothing is remembered: this proxy was started with ", code("--record off"), "."),
    el("form", { onsubmit: (event) => event.preventDefault() },
      choice("outcome", "outcome", of("outcome")), choice("strategy", "strategy", of("strategy")),
      choice("dialect", "dialect", [...of("client"), ...of("server").map((name) => name && name.split("@")[0])]),
      el("label", {}, "model has", el("input", { name: "model", type: "search", value: state.filter.model || "", oninput: filtered })),
      el("button", { type: "button", "aria-pressed": String(state.paused), onclick: (event) => {
        state.paused = !state.paused;
        event.target.setAttribute("aria-pressed", String(state.paused));
        event.target.textContent = state.paused ? "Go on" : "Hold";
        if (!state.paused) rows();
      } }, state.paused ? "Go on" : "Hold")),
    el("p", { class: "soft", id: "shown", role: "status" }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "the last requests" },
      el("table", {}, el("thead", {}, el("tr", {},
        [["time"], ["client → server"], ["model", "optional"], ["strategy"], ["outcome"], ["took", "n"], ["added", "n optional"],
          ["upstream", "n optional"], ["losses", "n"], ["retries", "n"], ["asked / answered", "n optional"]]
          .map(([head, kind]) => el("th", { scope: "col", class: kind }, head)))),
      el("tbody", { id: "rows" }))));
}

// --- JSON with its differences and its losses marked ---

const escaped = (key) => String(key).replaceAll("~", "~0").replaceAll("/", "~1");
const parsed = (text) => { try { return JSON.parse(text); } catch { return undefined; } };

// What stands at a JSON Pointer in `other` decides whether a value is marked; `losses` are underlined, each with its reason.
function shown(value, other, losses) {
  const out = el("pre", { tabindex: "0" });
  const lossAt = new Map((losses || []).map((loss) => [loss.pointer, loss]));
  const write = (node, value, other, at, pad) => {
    const loss = lossAt.get(at);
    if (loss) {
      const inner = el("span", { class: "lost", title: loss.reason });
      node.append(inner);
      node = inner;
    }
    const isList = Array.isArray(value);
    if (value === null || typeof value !== "object") {
      const text = JSON.stringify(value);
      node.append(other !== NOTHING && JSON.stringify(other) !== text ? el("mark", {}, text) : text);
      return;
    }
    const entries = isList ? value.map((item, index) => [index, item]) : Object.entries(value);
    if (!entries.length) return node.append(isList ? "[]" : "{}");
    node.append(isList ? "[" : "{");
    entries.forEach(([key, item], index) => {
      const has = other === NOTHING || (other && typeof other === "object" && key in other);
      const line = has ? node : el("mark", {});
      node.append("\n" + pad + "  ");
      if (!isList) line.append(JSON.stringify(key) + ": ");
      write(line, item, other === NOTHING || !has ? NOTHING : other[key], at + "/" + escaped(key), pad + "  ");
      if (!has) node.append(line);
      if (index < entries.length - 1) node.append(",");
    });
    node.append("\n" + pad + (isList ? "]" : "}"));
  };
  write(out, value, other, "", "");
  return out;
}
const NOTHING = Symbol("nothing to compare with");
const body = (text, other, losses) => {
  const value = parsed(text);
  return value === undefined ? el("pre", { tabindex: "0" }, text) : shown(value, other === undefined ? NOTHING : other, losses);
};

// --- one request's way ---

function text(part, other, losses) {
  if (!part.text) return el("p", { class: "soft" }, bytes(part.bytes), part.bytes ? "; its bytes are not recorded" : "; nothing was read of it");
  return [part.cut && el("p", { class: "soft" }, "cut: the first bytes of " + bytes(part.bytes)), body(part.text, other, losses)];
}
const quote = (text) => "'" + text.replaceAll("'", "'\\''") + "'";
const lossList = (losses) => losses.length
  ? el("ul", { class: "plain" }, losses.map((loss) => el("li", {}, code(loss.pointer || "/"), ": " + loss.reason + " (made sure of by " + loss.enforced_by + ")")))
  : el("p", { class: "soft" }, "none: the server was told everything");

function save(name, value) {
  const link = el("a", { href: URL.createObjectURL(new Blob([value], { type: "application/json" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
function copy(label, make) {
  return el("button", { type: "button", onclick: async (event) => {
    const value = make();
    try { await navigator.clipboard.writeText(value); event.target.textContent = "Copied"; }
    catch { window.prompt("Copy this:", value); }
    setTimeout(() => { event.target.textContent = label; }, 1500);
  } }, label);
}

function way(one) {
  const asked = one.request.text ? parsed(one.request.text) : undefined;
  const last = one.attempts[one.attempts.length - 1];
  const admin = location.origin;
  return [
    el("p", {}, el("a", { href: "#requests" }, "All requests")),
    card("Request " + one.id, facts([
      ["came", new Date(one.time).toLocaleString()], ["at", one.method + " " + one.path], ["outcome", [outcome(one.outcome), one.code && [" ", code(one.code)]]],
      ["status", one.status], ["by", one.caller], ["model", one.model], ["took", ms(one.duration_ms) + ", of which the proxy " + ms(one.own_ms) + " and the server " + ms(one.upstream_ms)],
      ["first byte after", one.first_byte_ms === null ? null : ms(one.first_byte_ms)], ["mended", one.repairs], ["sent again", one.retried.join(", ")],
    ]),
    el("p", { class: "row" },
      asked !== undefined && !one.request.cut && [
        copy("Copy as curl", () => "curl -s " + state.overview.address + one.path + " -H 'content-type: application/json' -d " + quote(one.request.text)),
        copy("Copy as isogloss explain", () => "isogloss explain --admin " + admin + " --request " + one.id),
        el("button", { type: "button", onclick: () => { play.path = one.path; play.request = one.request.text; play.dialect = one.server || play.dialect; play.reply = (last && last.came.text) || ""; location.hash = "#playground"; } }, "Open in the playground"),
      ],
      el("button", { type: "button", onclick: () => save("isogloss-" + one.id + ".json", JSON.stringify(one, null, 2)) }, "Download as a replay file")),
    one.recording !== "bodies" && el("p", { class: "soft" }, "Sizes and shapes only: with ", code("--record bodies"), " the bodies are here too.")),
    card("Its way through the house", el("ol", { class: "way" },
      el("li", {}, el("h3", {}, "The client asks: " + (one.client || "a route that is not translated")), text(one.request, undefined, one.lost)),
      one.plan && el("li", {}, el("h3", {}, "Contract: what must be true of the reply"), facts([["calls", one.plan.calls], ["tools", String(one.plan.tools)], ["content", one.plan.content || "anything"]])),
      one.strategy && el("li", {}, el("h3", {}, "Plan"), facts([["strategy", tag(one.strategy, TONE[one.strategy])], ["for", one.server], ["the content is read as", one.plan && one.plan.rewrap.replaceAll("_", " ")]]),
        one.plan && [el("h3", {}, "Losses"), lossList(one.lost)]),
      one.attempts.map((attempt, index) => el("li", {},
        el("h3", {}, (one.attempts.length > 1 ? "Attempt " + (index + 1) + ": t" : "T") + "he server is asked at " + attempt.path),
        el("p", { class: "soft" }, attempt.upstream),
        el("div", { class: "pair" }, el("div", {}, el("h3", {}, "sent"), text(attempt.sent, asked)),
          el("div", {}, el("h3", {}, "answered " + (attempt.status || "nothing")), text(attempt.came))),
        attempt.violation && el("p", {}, tag("breaks the contract", "bad"), " ", code(attempt.violation.place + attempt.violation.pointer), " rule ", code(attempt.violation.rule)))),
      el("li", {}, el("h3", {}, "The client gets " + (one.status || "nothing")),
        text(one.reply, last && last.came.text ? parsed(last.came.text) : undefined)),
      el("li", {}, el("h3", {}, "Verdict"), el("p", {}, outcome(one.outcome), " ", one.outcome === "ok" ? "what the client got satisfies what it asked for" : one.code ? "ended with " + one.code : ""))))];
}

// --- the playground ---

const schema = { type: "object", properties: { name: { type: "string", pattern: "^[A-Z]" }, age: { type: "integer", minimum: 0 } }, required: ["name", "age"], additionalProperties: false };
const EXAMPLES = {
  "Chat: a JSON Schema": ["/v1/chat/completions", { model: "isogloss-builtin", messages: [{ role: "user", content: "Ada is 36 years old." }], response_format: { type: "json_schema", json_schema: { name: "person", strict: true, schema } } }],
  "Chat: a tool is required": ["/v1/chat/completions", { model: "isogloss-builtin", messages: [{ role: "user", content: "What is the weather in Rome?" }], tools: [{ type: "function", function: { name: "get_weather", description: "The weather of a city", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false } } }], tool_choice: "required" }],
  "Chat: vLLM's choice": ["/v1/chat/completions", { model: "isogloss-builtin", messages: [{ role: "user", content: "I really love this phone." }], structured_outputs: { choice: ["positive", "negative"] } }],
  "Responses: a text format": ["/v1/responses", { model: "isogloss-builtin", input: "Ada is 36 years old.", text: { format: { type: "json_schema", name: "person", strict: true, schema } } }],
  "Anthropic: any tool": ["/v1/messages", { model: "isogloss-builtin", max_tokens: 200, messages: [{ role: "user", content: "What is the weather in Rome?" }], tools: [{ name: "get_weather", description: "The weather of a city", input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } }], tool_choice: { type: "any" } }],
  "Gemini: a response schema": ["/v1beta/models/isogloss-builtin:generateContent", { contents: [{ role: "user", parts: [{ text: "Ada is 36 years old." }] }], generationConfig: { responseMimeType: "application/json", responseJsonSchema: schema } }],
  "Ollama: a format": ["/api/chat", { model: "isogloss-builtin", messages: [{ role: "user", content: "Ada is 36 years old." }], format: schema, stream: false }],
};
const play = { path: EXAMPLES["Chat: a JSON Schema"][0], request: JSON.stringify(EXAMPLES["Chat: a JSON Schema"][1], null, 2), dialect: "vllm@0.10.2", reply: "", key: "" };

async function post(path, question) {
  const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) });
  const value = parsed(await answer.text());
  if (!answer.ok) throw new Error((value && value.error && value.error.message) || "answered " + answer.status);
  return value;
}

function explained(told) {
  if (told.refused) {
    return card("Refused", facts([["status", told.refused.status], ["code", code(told.refused.code)], ["at", told.refused.param], ["why", told.refused.message]]),
      el("h3", {}, "The client gets"), shown(told.refused.body, NOTHING));
  }
  const asked = parsed(play.request);
  const reply = told.reply;
  return [
    card("Translation", facts([
      ["client → server", told.client + " → " + told.dialect], ["strategy", tag(told.strategy, TONE[told.strategy])],
      ["contract", "calls " + told.contract.calls + (told.contract.tools.length ? " (" + told.contract.tools.join(", ") + ")" : "") + (told.contract.content ? "; content is " + told.contract.content : "")],
      ["content is read as", told.plan.rewrap.replaceAll("_", " ")], ["sent to", code(told.path)],
      ["bytes", told.untouched ? "the client's own, untouched" : "written for the server"],
    ]), el("h3", {}, "Losses"), lossList(told.losses),
    el("div", { class: "pair" },
      el("div", {}, el("h3", {}, "What the client asks"), asked === undefined ? el("pre", {}, play.request) : shown(asked, told.request, told.losses)),
      el("div", {}, el("h3", {}, "What the server gets"), shown(told.request, asked === undefined ? NOTHING : asked))),
    el("p", { class: "soft" }, el("mark", {}, "Marked"), " is what the other side has not, or otherwise; ", el("span", { class: "lost" }, "underlined"), " what the server is not told."),
    told.then && [el("h3", {}, "Then, to " + told.then.path), shown(told.then.request, NOTHING)]),
    told.constraints.length > 0 && card("What is verified", told.constraints.map((one) => [el("h3", {}, one.kind + (one.at ? " of " + one.at : "")),
      one.value === null ? null : typeof one.value === "string" ? el("pre", { tabindex: "0" }, one.value) : shown(one.value, NOTHING)])),
    reply && card("Verdict", el("p", {}, reply.ok ? tag("satisfies the contract", "good") : tag(reply.violation ? "breaks the contract" : "no usable reply", "bad"),
      reply.repairs ? " mended: " + reply.repairs.join(", ") : ""),
    reply.violation && facts([["where", code(reply.violation.place + reply.violation.pointer)], ["rule", code(reply.violation.rule)], ["why", reply.violation.message]]),
    reply.error && shown(reply.error, NOTHING), reply.body && [el("h3", {}, "The client gets"), typeof reply.body === "string" ? el("pre", { tabindex: "0" }, reply.body) : shown(reply.body, NOTHING)]),
  ];
}

function playground() {
  const out = el("div", { id: "answer", "aria-live": "polite" });
  const field = (name) => ({ value: play[name], oninput: (event) => { play[name] = event.target.value; } });
  const area = (name, attributes) => {
    const node = el("textarea", { ...attributes, spellcheck: "false", autocomplete: "off", oninput: (event) => { play[name] = event.target.value; } });
    node.value = play[name];
    return node;
  };
  const path = el("input", { ...field("path"), size: 34, list: "paths" });
  const request = area("request");
  const answer = async (work) => {
    out.replaceChildren(el("p", { class: "soft" }, "…"));
    try { out.replaceChildren(...[await work()].flat(9).filter(Boolean)); }
    catch (error) { out.replaceChildren(card("It did not work", el("p", {}, error.message))); }
  };
  const explain = () => answer(async () => {
    const question = { path: play.path, request: play.request };
    const own = play.dialect.match(/^upstream (\d+)$/);
    if (own) question.upstream = Number(own[1]); else question.dialect = play.dialect;
    if (play.reply.trim()) question.reply = play.reply;
    return explained(await post("explain", question));
  });
  const send = () => answer(async () => {
    const told = await post("send", { path: play.path, request: play.request, authorization: play.key || undefined });
    return card("Sent: " + told.status, facts(Object.entries(told.headers).map(([name, value]) => [name, value])),
      told.headers["x-isogloss-request-id"] && state.overview.journal.recording !== "off"
        && el("p", {}, el("a", { href: "#requests/" + told.headers["x-isogloss-request-id"] }, "Its way through the house")), body(told.body));
  });
  const { dialects, capabilities } = state.overview;
  return [card("Playground",
    el("form", { onsubmit: (event) => { event.preventDefault(); explain(); } },
      el("label", {}, "an example", el("select", { onchange: (event) => {
        const example = EXAMPLES[event.target.value];
        if (!example) return;
        play.path = path.value = example[0];
        play.request = request.value = JSON.stringify(example[1], null, 2);
      } }, el("option", { value: "" }, "your own"), Object.keys(EXAMPLES).map((name) => el("option", {}, name)))),
      el("label", {}, "the client's route", path),
      el("datalist", { id: "paths" }, [...new Set(Object.values(EXAMPLES).map((one) => one[0]))].map((value) => el("option", { value }))),
      el("label", {}, "server: dialect and version", el("input", { ...field("dialect"), list: "dialects", size: 22 })),
      el("datalist", { id: "dialects" }, capabilities.upstreams.map((one, index) => el("option", { value: "upstream " + index }, one.url)),
        (dialects || []).map((value) => el("option", { value }))),
      el("label", { class: "full" }, "the request's body", request),
      el("label", { class: "full" }, "a reply of the server's, to be judged (JSON, events, or what curl -i printed); may stay empty", area("reply", { class: "short" })),
      el("button", { class: "main" }, "Explain"),
      el("button", { type: "button", onclick: send }, "Send it to an upstream"),
      el("label", {}, "with the key (where clients have keys)", el("input", { ...field("key"), type: "password", autocomplete: "off", placeholder: "Bearer …" })))),
  out];
}

// --- which view, and what is new ---

let drawn = "";
async function draw() {
  const [view, id] = (location.hash.slice(1) || "overview").split("/");
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === "#" + view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const is = view + "/" + (id || "");
  const isNew = is !== drawn;
  drawn = is;
  if (!state.overview) return;
  document.title = "Isogloss: " + view;
  if (view === "requests" && id) {
    const answer = await fetch("requests/" + encodeURIComponent(id));
    const one = parsed(await answer.text());
    if (is !== drawn) return;
    main.replaceChildren(...(answer.ok ? way(one) : [card("Request " + id, el("p", {}, (one && one.error.message) || "it cannot be shown"))]).flat(9).filter(Boolean));
  } else if (view === "requests") {
    main.replaceChildren(requests());
    rows();
  } else if (view === "playground") {
    main.replaceChildren(...playground());
  } else {
    main.replaceChildren(overview());
  }
  if (isNew && document.activeElement && document.activeElement.closest("nav") === null && drawn !== "overview/") main.focus({ preventScroll: true });
}

function told(value) {
  const isFirst = !state.overview;
  state.before = state.overview;
  state.overview = { ...value, at: Date.now() };
  const { readiness, journal } = value;
  document.getElementById("version").textContent = value.version;
  const word = readiness.draining ? "draining" : readiness.ready ? "ready" : "not ready";
  const node = document.getElementById("state");
  if (node.textContent !== word) node.replaceChildren(tag(word, word === "ready" ? "good" : "bad"));
  document.getElementById("recording").textContent = {
    off: "Requests are not remembered (--record off).",
    shapes: "The last " + journal.most_entries + " requests are remembered without their bodies (--record bodies adds them).",
    bodies: "Bodies are recorded: the first " + bytes(journal.most_body_bytes) + " of each, without what looks like a key, of the last "
      + journal.most_entries + " requests, in memory, at most " + bytes(journal.most_bytes) + ".",
  }[journal.recording];
  const view = (location.hash.slice(1) || "overview").split("/")[0];
  const isRead = main.contains(document.activeElement) && document.activeElement !== main;
  if (isFirst || (view === "overview" && !isRead && String(window.getSelection()) === "")) draw();
}

function ended(listed) {
  const known = new Set(state.requests.map((one) => one.id + one.seq));
  const fresh = listed.filter((one) => !known.has(one.id + one.seq));
  state.requests = [...fresh, ...state.requests].slice(0, 1000);
  const isRead = document.activeElement && document.activeElement.closest("#rows");
  if (!state.paused && !isRead) rows(new Set(fresh.map((one) => one.id)));
}

const newest = () => state.requests.reduce((most, one) => Math.max(most, one.seq), 0);
const lost = () => document.getElementById("state").replaceChildren(tag("not connected; trying again", "bad"));

// Asks once; says whether there was an answer.
async function look() {
  try {
    const [overview, listed] = await Promise.all([fetch("overview"), fetch("requests?limit=1000&since=" + newest())]);
    if (!overview.ok || !listed.ok) throw new Error();
    const last = await overview.json();
    // A proxy that was started anew counts anew.
    if (last.journal.ended < newest()) state.requests = [];
    ended((await listed.json()).requests);
    told(last);
    return true;
  } catch {
    lost();
    return false;
  }
}

function listen() {
  const events = new EventSource("events?since=" + newest());
  events.addEventListener("overview", (event) => told(JSON.parse(event.data)));
  events.addEventListener("requests", (event) => ended(JSON.parse(event.data).requests));
  events.addEventListener("error", () => {
    // Others look already, or the proxy has gone: ask now and then until there is a place.
    events.close();
    setTimeout(again, 2000);
  });
}
let tries = 0;
async function again() {
  const isThere = await look();
  tries += 1;
  if (isThere && tries % 5 === 0) listen();
  else setTimeout(again, 2000);
}
look().then(listen);
window.addEventListener("hashchange", draw);
