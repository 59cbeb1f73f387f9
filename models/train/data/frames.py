"""What stands around a text: system messages, instructions, names of tools that take a result."""

from __future__ import annotations

SYSTEMS = [
    "You are a helpful assistant.",
    "Extract the data from the text.",
    "You extract structured data.",
    "Read the text and fill in the fields.",
    "You turn texts into JSON.",
    "Be brief.",
    "Answer precisely.",
    "You are a careful assistant that reads documents.",
    "Extract what the user asks for.",
    "You are an expert in data entry.",
    "Parse the message.",
    "Only use what is in the text.",
    "You are a service agent.",
    "Use the tools where they help.",
]
ASKS = [
    "Extract the {noun}: {text}",
    "Text: {text}",
    "{text}\n\nExtract the data as JSON.",
    'Extract from this: "{text}"',
    "Extract the information.\n\n{text}",
    "Please fill in the form: {text}",
    "Here is a {noun}: {text}",
    "Get the data out of this text:\n{text}",
    "Extract: {text}",
    "Parse this: {text}",
    "{text}\nWhich {noun} is this about?",
    "Describe the {noun} as JSON. {text}",
]
FINAL = [
    "final_result",
    "final_result",
    "final_result",
    "extract",
    "extract_data",
    "save",
    "submit",
    "answer",
    "output",
    "record",
    "result",
    "respond",
    "fill_form",
]
FINAL_TEXTS = [
    "The final response which ends this conversation",
    "The final response which ends this conversation",
    "Correctly extracted `{Noun}` with all the required parameters with correct types",
    "Extract the {noun}.",
    "Save the {noun}.",
    "The {noun}.",
    None,
    None,
    "Call this with the data of the {noun}.",
    "Details of a {noun}.",
]

# What asks for JSON where nothing enforces it: of a schema, and of names alone.
SCHEMA_ASKS = [
    "Always respond with a JSON object that's compatible with this schema:\n\n{}\n\nDon't include any text or Markdown fencing before or after.",
    "Always respond with a JSON object that's compatible with this schema:\n\n{}\n\nDon't include any text or Markdown fencing before or after.",
    "Respond with JSON that matches this schema: {}",
    "Your answer must be a JSON object of the following schema, and nothing else.\n{}",
    "Reply with nothing but JSON. Schema:\n{}",
    "Answer in JSON. The schema is:\n{}",
    "Output a JSON object that fits this JSON schema, no prose, no code fence:\n{}",
    "Extract the data from the message. Return only JSON that validates against\n{}",
    "The output should be formatted as a JSON instance that conforms to the JSON schema below.\n\n{}",
    "As a genius expert, your task is to understand the content and provide the parsed objects in json that match the following json_schema:\n\n{}\n\nMake sure to return an instance of the JSON, not the schema itself",
]
KEY_ASKS = [
    "Answer with a JSON object with the keys {} and nothing else.",
    "Give me {} as JSON.",
    "Reply in JSON: {}",
    "Return JSON with these fields: {}. No other text.",
]
