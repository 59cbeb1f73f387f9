// The Vercel AI SDK in one of its ways: `node vercel.mjs WIRE WAY BASE_URL MODEL` prints what came, as one line of JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [wire, way, baseURL, name] = process.argv.slice(2);
const options = { baseURL, apiKey: "test-key" };
const models = {
  compatible: () => createOpenAICompatible({ name: "isogloss", supportsStructuredOutputs: true, ...options })(name),
  chat: () => createOpenAI(options).chat(name),
  responses: () => createOpenAI(options).responses(name),
};
const model = models[wire]();
const City = z.object({ city: z.string(), country: z.string(), population: z.number().int() });
const asked = { model, prompt: "Where is the Eiffel tower?", maxRetries: 0 };
const object = { ...asked, output: Output.object({ schema: City }) };

const get_weather = (cities) =>
  tool({
    description: "Get the weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => (cities.push(city), "21 degrees"),
  });

const ways = {
  object: async () => (await generateText(object)).output,
  stream: async () => {
    let failure;
    const { partialOutputStream } = streamText({ ...object, onError: ({ error }) => (failure = error) });
    let last;
    for await (const partial of partialOutputStream) last = partial;
    if (failure) throw failure;
    return last;
  },
  forced: async () => {
    const record = tool({ description: "Record a city", inputSchema: City });
    const { toolCalls } = await generateText({ ...asked, tools: { record }, toolChoice: "required" });
    return toolCalls.map((call) => call.input)[0];
  },
  acts: async () => {
    const cities = [];
    const { text } = await generateText({ ...asked, tools: { get_weather: get_weather(cities) }, stopWhen: stepCountIs(4) });
    return [cities, text];
  },
  // Over Responses the second request names what the first said by its id.
  again: async () => {
    const first = await generateText(asked);
    const messages = [{ role: "user", content: asked.prompt }, ...first.response.messages, { role: "user", content: "And Big Ben?" }];
    const { model, maxRetries } = asked;
    const { text } = await generateText({ model, maxRetries, messages });
    return [first.text, text];
  },
};

try {
  console.log(JSON.stringify({ came: await ways[way]() }));
} catch (error) {
  console.log(JSON.stringify({ error: String(error?.data?.error?.message ?? error?.message ?? error), status: error?.statusCode }));
}
