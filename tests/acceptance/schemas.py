"""What is asked for. Most of it took a server down, was refused or was ignored somewhere."""


def closed(properties, **more):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False, **more}


text = lambda **more: {"type": "string", **more}
whole = lambda **more: {"type": "integer", **more}

SCHEMAS = {
    "plain": closed({"city": text(maxLength=20), "celsius": whole(minimum=-90, maximum=60)}),
    "digits": closed({"a": text(pattern=r"^\d{3}$")}),
    "somewhere": closed({"a": text(pattern="ab+c")}),
    "no_blanks": closed({"a": text(pattern=r"^\S{1,9}@\S{1,9}$")}),
    "anything_but": closed({"a": text(pattern="^[^,]{1,9}$")}),
    "beyond_ascii": closed({"a": text(pattern="^[^\\u0080]{1,5}$")}),
    "long_pattern": closed({"a": text(pattern="^[a-z]{1,255}$")}),
    "lone_minimum": closed({"n": whole(minimum=100)}),
    "large_minimum": closed({"n": whole(minimum=2**53)}),
    "low_maximum": closed({"n": whole(maximum=-(10**12))}),
    "ends_of_64_bits": closed({"n": whole(minimum=-(2**63), maximum=2**63 - 1)}),
    "long_text": closed({"a": text(maxLength=2000)}),
    "many_items": closed({"a": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1, "maxItems": 1999}}),
    "quoted_name": closed({'a"b': text(maxLength=5)}),
    "named_by_pattern": {
        "type": "object",
        "patternProperties": {"^[a-z]{1,255}$": whole(minimum=0, maximum=9)},
        "additionalProperties": False,
        "minProperties": 1,
    },
    "duration": closed({"a": text(format="duration")}),
    "no_items": closed({"a": {"type": "array", "prefixItems": [whole(maximum=9, minimum=0)], "items": False}}),
    "all_but": closed({"a": {"allOf": [{"enum": ["a", "b", "c"]}, {"not": {"enum": ["b"]}}]}}),
    "either": {"anyOf": [closed({"a": whole(minimum=0, maximum=9)}), closed({"b": {"type": "boolean"}})]},
    "recursive": closed({"tree": {"$ref": "#/$defs/tree"}}, **{
        "$defs": {"tree": closed({"leaf": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/tree"}]}})},
    }),
}

REGEX = r"\S{3}\s\S{3}"
WORDS = ["sun", "rain", 'sn"ow', "né"]
GRAMMAR = 'root ::= [a-z]{2,4} "=" [0-9]+\n'
LARK = 'start: NAME "=" /[0-9]+/\nNAME: /[a-z]{2,4}/\n'
