//! Numbers, exactly: two decimals come in; whether one is a multiple of the other goes out. And a
//! schema comes in; what it demands of numbers goes out.

use super::validator::draft_of;
use isogloss_validate::{Draft, Keyword, ValidationError};
use serde_json::{Map, Number, Value};

/// What may be said of how large numbers are.
pub(crate) const BOUNDS: [&str; 4] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];

/// What a schema demands of the value of numbers, beyond their type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum NumberDemand {
    /// Nothing.
    #[default]
    None,
    /// Bounds: a number between two that satisfy them satisfies them, too.
    Bounds,
    /// Its exact value: `multipleOf` of what does not divide 1, or `const` and `enum` with numbers that are as large as those that
    /// are held only nearly.
    Exact,
}

/// What one schema object demands by its own keywords.
pub(crate) fn demand(schema: &Map<String, Value>) -> NumberDemand {
    let names_large = |keyword| schema.get(keyword).is_some_and(holds_large_number);
    let is_multiple = schema
        .get("multipleOf")
        .is_some_and(|unit| !divides_one(unit));
    if is_multiple || names_large("const") || names_large("enum") {
        NumberDemand::Exact
    } else if BOUNDS.iter().any(|keyword| schema.contains_key(*keyword)) {
        NumberDemand::Bounds
    } else {
        NumberDemand::None
    }
}

/// Whether a schema, or one in it, takes or refuses a whole number by its exact value, so that one which a reader holds only
/// nearly is refused ([`super::Validator::validate_text`]). Draft 4 takes such a number for none that is whole.
#[must_use]
pub fn reads_exactly(schema: &Value) -> bool {
    if draft_of(schema) == Some(Draft::Draft4) {
        return true;
    }
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(map) if demand(map) == NumberDemand::Exact => return true,
            Value::Object(map) => pending.extend(map.values()),
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    false
}

/// A count of `minItems` and its like, also where it is written as `5.0`; what is beyond the signed
/// numbers of 64 bits is the largest of them.
pub(crate) fn count_of(count: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and not negative, and saturates"
    )]
    let of_float = |float: f64| (float >= 0.0 && float.fract() == 0.0).then_some(float as u64);
    let count = count.as_u64().or_else(|| count.as_f64().and_then(of_float));
    count.map(|count| count.min(i64::MAX.unsigned_abs()))
}

/// Whether every whole number is a multiple of it.
fn divides_one(unit: &Value) -> bool {
    let Value::Number(unit) = unit else {
        return false;
    };
    let one = Decimal::of(&Number::from(1));
    let pair = one.zip(Decimal::of(unit));
    pair.is_some_and(|(one, unit)| one.is_multiple_of(unit))
}

/// Whether a value holds a number beyond those that every float next to it tells apart.
fn holds_large_number(value: &Value) -> bool {
    const LARGE: f64 = 9_007_199_254_740_992.0;
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Number(number) if number.as_f64().is_none_or(|it| it.abs() >= LARGE) => {
                return true;
            }
            Value::Array(items) => pending.extend(items),
            Value::Object(members) => pending.extend(members.values()),
            _ => {}
        }
    }
    false
}

/// A decimal: `digits * 10^exponent`, without its sign.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// A float is the shortest decimal that reads as it: what somebody wrote.
    fn of(number: &Number) -> Option<Self> {
        if let Some(digits) = number.as_u64() {
            return Some(Self {
                digits,
                exponent: 0,
            });
        }
        if let Some(value) = number.as_i64() {
            let digits = value.unsigned_abs();
            return Some(Self {
                digits,
                exponent: 0,
            });
        }
        let text = format!("{:e}", number.as_f64()?.abs());
        let (mantissa, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent - i32::try_from(fraction.len()).ok()?,
        })
    }

    fn is_multiple_of(self, unit: Self) -> bool {
        if self.digits == 0 || unit.digits == 0 {
            return self.digits == 0;
        }
        let shift = self.exponent - unit.exponent;
        let places = shift.unsigned_abs();
        if shift >= 0 {
            // Only the rest matters, so no exponent is too large.
            let modulus = u128::from(unit.digits);
            let scale = (0..places).fold(1 % modulus, |rest, _| rest * 10 % modulus);
            return u128::from(self.digits) % modulus * scale % modulus == 0;
        }
        // The unit has the larger exponent: what has fewer digits than that is no multiple of it.
        let scaled = 10_u128
            .checked_pow(places)
            .and_then(|scale| scale.checked_mul(u128::from(unit.digits)));
        scaled.is_some_and(|unit| u128::from(self.digits) % unit == 0)
    }
}

/// `multipleOf`, exactly; the library computes it in floats.
struct MultipleOf {
    unit: Number,
}

impl Keyword<'_> for MultipleOf {
    fn validate(&self, instance: &Value) -> Result<(), ValidationError<'static>> {
        if Keyword::is_valid(self, instance) {
            return Ok(());
        }
        let message = format!("is not a multiple of {}", self.unit);
        Err(ValidationError::custom(message))
    }

    fn is_valid(&self, instance: &Value) -> bool {
        let Value::Number(number) = instance else {
            return true;
        };
        match (Decimal::of(number), Decimal::of(&self.unit)) {
            (Some(number), Some(unit)) => number.is_multiple_of(unit),
            _ => false,
        }
    }
}

/// The keyword as the library takes it. What is no number, the metaschema has refused before.
pub(crate) fn multiple_of<'a>(
    value: &'a Value,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    match value {
        Value::Number(unit) => Ok(Box::new(MultipleOf { unit: unit.clone() })),
        _ => Err(ValidationError::custom("`multipleOf` is not a number")),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::super::Validator;
    use super::reads_exactly;
    use serde_json::{Value, json};

    fn verdict(schema: &Value, text: &str) -> Result<(), (String, String)> {
        Validator::compile(schema)
            .unwrap()
            .validate_text(text)
            .map_err(|breach| (breach.pointer, breach.rule))
    }

    #[test]
    fn multiples_are_exact_for_integers_and_for_decimals() {
        for (unit, text, expected) in [
            ("9007199254740993", "9007199254740993", true),
            ("9007199254740993", "9007199254740992", false),
            ("3", "9223372036854775806", true),
            ("3", "9223372036854775807", false),
            ("18446744073709551615", "18446744073709551615", true),
            ("2", "-9223372036854775808", true),
            ("0.01", "19.99", true),
            ("0.01", "4.35", true),
            ("0.1", "0.30000000000000004", false),
            ("0.0001", "0.0075", true),
            ("0.0001", "0.00751", false),
            ("1e-8", "12391239123", true),
            ("0.123456789", "1e308", false),
            ("0.5", "1e308", true),
            ("1e300", "1e308", true),
            ("1e308", "5", false),
            ("1e308", "0", true),
            ("1", "1.0", true),
            ("1", "-0.0", true),
            ("2.5", "-7.5", true),
            ("5e-324", "5e-324", true),
        ] {
            let unit: Value = serde_json::from_str(unit).unwrap();
            for schema in [
                json!({"multipleOf": unit}),
                json!({"type": "number", "multipleOf": unit}),
            ] {
                let passed = verdict(&schema, text);
                assert_eq!(passed.is_ok(), expected, "{text} of {unit}: {passed:?}");
            }
        }
        let inside = json!({"$ref": "#/$defs/n", "$defs": {"n": {"items": {"multipleOf": 3}}}});
        let breach = Validator::compile(&inside)
            .unwrap()
            .validate(&json!([3, 4]))
            .unwrap_err();
        assert_eq!((&*breach.pointer, &*breach.rule), ("/1", "multipleOf"));
        assert_eq!(breach.message, "is not a multiple of 3");
    }

    #[test]
    fn bounds_are_exact_between_integers_and_floats() {
        for (schema, text, expected) in [
            (json!({"minimum": i64::MIN}), "-9223372036854775808", true),
            (json!({"minimum": i64::MIN}), "-9223372036854775809", false),
            (json!({"maximum": u64::MAX}), "18446744073709551615", true),
            (json!({"maximum": u64::MAX}), "18446744073709551616", false),
            (
                json!({"maximum": 9_007_199_254_740_992_u64}),
                "9007199254740993",
                false,
            ),
            (
                json!({"exclusiveMaximum": 9_007_199_254_740_993_u64}),
                "9007199254740992",
                true,
            ),
            (
                json!({"exclusiveMaximum": 9_007_199_254_740_992.0}),
                "9007199254740992",
                false,
            ),
            (
                json!({"minimum": 9_007_199_254_740_992.0}),
                "9007199254740993",
                true,
            ),
            (
                json!({"minimum": 0}),
                "123456789012345678901234567890",
                true,
            ),
            (
                json!({"maximum": 0}),
                "123456789012345678901234567890",
                false,
            ),
            (
                json!({"type": "integer"}),
                "123456789012345678901234567890",
                true,
            ),
        ] {
            let passed = verdict(&schema, text);
            assert_eq!(
                passed.is_ok(),
                expected,
                "{text} under {schema}: {passed:?}"
            );
        }
    }

    #[test]
    fn a_number_that_cannot_be_held_is_a_breach_where_its_exact_value_matters() {
        let big = "18446744073709551616";
        for schema in [
            json!({"const": 18_446_744_073_709_551_616.0}),
            json!({"enum": [[{"a": 1}], 18_446_744_073_709_551_616.0]}),
            json!({"multipleOf": 2}),
        ] {
            assert!(verdict(&schema, big).is_err(), "{schema}");
        }
        let free = json!({"properties": {"a": {"enum": ["x"]}, "const": {"type": "integer"}}});
        assert_eq!(
            verdict(&free, &format!(r#"{{"a":"x","const":{big}}}"#)),
            Ok(())
        );
        assert_eq!(verdict(&json!(true), big), Ok(()));
    }

    #[test]
    fn a_number_that_cannot_be_held_is_taken_where_nothing_asks_for_its_exact_value() {
        let big = "184467440737095516160000";
        for beside in [
            json!({"enum": [1, 2.5, -3]}),
            json!({"const": 7}),
            json!({"multipleOf": 0.01}),
            json!({"multipleOf": 1}),
        ] {
            let schema = json!({"properties": {"a": beside, "b": {"type": "integer"}}});
            let text = format!(r#"{{"b":{big}}}"#);
            assert_eq!(verdict(&schema, &text), Ok(()), "{schema}");
            assert!(!reads_exactly(&schema), "{schema}");
        }
        for unit in [0.01, 1.0, 0.5] {
            assert_eq!(verdict(&json!({"multipleOf": unit}), big), Ok(()), "{unit}");
        }
        assert!(verdict(&json!({"enum": [1, 2]}), big).is_err());
        assert!(verdict(&json!({"const": 7}), big).is_err());
        for exact in [
            json!({"items": {"multipleOf": 5}}),
            json!({"enum": [9_007_199_254_740_992_u64]}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}),
        ] {
            assert!(reads_exactly(&exact), "{exact}");
        }
    }

    #[test]
    fn a_text_is_read_strictly_before_it_is_validated() {
        let schema = json!({"properties": {"a": {"type": "integer"}}});
        assert_eq!(verdict(&schema, r#"{"a":1}"#), Ok(()));
        let json = |pointer: &str| Err((pointer.to_owned(), "json".to_owned()));
        assert_eq!(verdict(&schema, r#"{"a":1,"a":"x"}"#), json("/a"));
        assert_eq!(verdict(&schema, r#"{"a":1"#), json(""));
        let wrong = Err(("/a".to_owned(), "type".to_owned()));
        assert_eq!(verdict(&schema, r#"{"a":"x"}"#), wrong);
    }
}
