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
