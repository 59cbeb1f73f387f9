//! Tools that the server runs itself: nobody can say what it calls them with, and what else is
//! demanded must hold all the same.

use super::demands::{
    Calls, Demand, TEXTS, Takes, Tool, Want, choice_name, format_of, function, schema, stated,
};
use serde_json::json;

/// Tools that the server runs itself, beside functions and other demands.
pub fn demands() -> Vec<Demand> {
    let tool = |name| Tool {
        name,
        takes: Takes::Hosted(name),
    };
    let (web, code) = (tool("web_search"), tool("code_interpreter"));
    let (g, person) = (function("g", "age"), function("person", "person"));
    let mut all = Vec::new();
    for (name, calls, set) in [
        ("g", Calls::Optional, vec![&web, &g]),
        ("two", Calls::Optional, vec![&g, &web, &person, &code]),
        ("g", Calls::Required, vec![&web, &g]),
        ("alone", Calls::Optional, vec![&web]),
    ] {
        let word = choice_name(calls);
        let fields = json!({"tools": stated(&set), "tool_choice": word});
        let demand = Demand::new(format!("{word} hosted {name}"), fields).calling(calls, &set);
        let mut once = demand.clone().once();
        once.id += " once";
        all.extend([demand, once]);
    }
    let named = json!({"type": "function", "function": {"name": "g"}});
    let fields = json!({"tools": stated(&[&web, &g]), "tool_choice": named});
    let demand = Demand::new("named hosted beside", fields);
    all.push(demand.calling(Calls::Required, &[&g]).once());
    let fields = json!({"tools": stated(&[&web, &g]), "tool_choice": "none"});
    all.push(Demand::new("none hosted", fields));
    for (name, set) in [("alone", vec![&web]), ("g", vec![&g, &web])] {
        let fields = json!({"tools": stated(&set), "tool_choice": "auto",
            "response_format": format_of(schema("nested"))});
        all.push(
            Demand::new(format!("auto hosted {name} with nested"), fields)
                .calling(Calls::Optional, &set)
                .wanting(Want::Schema(schema("nested").clone())),
        );
    }
    let fields = json!({"tools": stated(&[&web]), "tool_choice": "auto",
        "structured_outputs": {"choice": TEXTS}});
    all.push(
        Demand::new("auto hosted with choice", fields)
            .calling(Calls::Optional, &[&web])
            .wanting(Want::Choice(TEXTS)),
    );
    all
}
