//! Verdicts of the validator, for an independent one to judge: lines of `{"schema": …, "instance":
//! …}` come in; `true`, `false`, or `null` where the schema is refused, go out.

use isogloss_core::schema::Validator;
use serde_json::Value;
use std::io::{BufRead, Write};

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut last: Option<(Value, Option<Validator>)> = None;
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line?)?;
        let is_same = last
            .as_ref()
            .is_some_and(|(schema, _)| *schema == case["schema"]);
        if !is_same {
            let validator = Validator::compile(&case["schema"]).ok();
            last = Some((case["schema"].clone(), validator));
        }
        let validator = last.as_ref().and_then(|(_, validator)| validator.as_ref());
        let verdict = validator.map(|it| it.validate_text(&case["instance"].to_string()).is_ok());
        writeln!(out, "{}", Value::from(verdict))?;
    }
    out.flush()
}
