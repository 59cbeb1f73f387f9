#![expect(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn prepared(source: &str) -> String {
    prepare(source).unwrap().source
}

#[test]
fn what_is_bound_is_weighed_after_the_tag_which_keeps_its_whitespace() {
    for (source, expected) in [
        (
            "{%- set x = 1 -%}\n a",
            "{%- set x = 1 -%}{% do isogloss_bound(x) -%}\n a",
        ),
        (
            "{% set a, b = 1, 2 %}",
            "{% set a, b = 1, 2 %}{% do isogloss_bound(a, b) %}",
        ),
        (
            "{% set ns.x = {'a': '%}'} %}",
            "{% set ns.x = {'a': '%}'} %}{% do isogloss_stored(ns.x) %}",
        ),
        (
            "{% set x %}a{% endset -%}",
            "{% set x %}a{% endset -%}{% do isogloss_bound(x) -%}",
        ),
        (
            "{% for k, v in x.items() if k %}",
            "{% for k, v in x.items() if k %}{% do isogloss_bound(k, v) %}",
        ),
        (
            "{% macro m(a, b='(', c=[d, e]) %}",
            "{% macro m(a, b='(', c=[d, e]) %}{% do isogloss_bound(a, b, c) %}",
        ),
        (
            "{% call(u) m(x) %}",
            "{% call(u) m(x) %}{% do isogloss_bound(u) %}",
        ),
        (
            "{% with a = f(x=1), b = 2 %}",
            "{% with a = f(x=1), b = 2 %}{% do isogloss_bound(a, b) %}",
        ),
    ] {
        assert_eq!(prepared(source), expected);
    }
}

#[test]
fn text_comments_and_raw_blocks_stay_as_they_are() {
    for source in [
        "{ {{ '{% set x = 1 %}' }} %}",
        "{# {% set x = 1 %} #}",
        "{% raw %}{% set x = 1 %}{%- endraw -%}",
        "{{ {'a': {'b': 1}}['a'] }}",
        "{% set x = 'unterminated %}",
    ] {
        assert_eq!(prepared(source), source);
    }
}

#[test]
fn generation_blocks_keep_their_body() {
    assert_eq!(
        prepared("{%- generation %}a{% endgeneration -%}"),
        "{%- if true %}a{% endif -%}"
    );
}

#[test]
fn operands_of_a_product_are_wrapped_unless_they_are_literals() {
    for (source, expected) in [
        ("{{ '=' * 3 }}", "{{ '=' * 3 }}"),
        ("{{ f(*a) }}", "{{ f(*a) }}"),
        ("{{ x|length * 2.5 }}", "{{ x|length * 2.5 }}"),
        (
            "{{ ' ' * loop.depth0 }}",
            "{{ ' ' * isogloss_factor(loop.depth0) }}",
        ),
        (
            "{{ a * b * 2 }}",
            "{{ isogloss_factor(a) * isogloss_factor(isogloss_factor(b)) * 2 }}",
        ),
    ] {
        let source = prepared(source);
        assert_eq!(source, expected);
    }
    for source in [
        "{{ [1] * 2 }}",
        "{{ 2 * f(x) }}",
        "{{ (a) * 2 }}",
        "{{ 2 * a[0] }}",
    ] {
        assert_eq!(prepare(source).unwrap_err(), Refused::Product(1));
    }
}

#[test]
fn sources_that_could_not_be_bounded_are_refused_with_their_line() {
    let long = "a".repeat(MAX_SOURCE + 1);
    assert_eq!(prepare(&long).unwrap_err(), Refused::Long(MAX_SOURCE + 1));
    let sum = format!("\n{{{{ x{} }}}}", " ~ x".repeat(MAX_OPERATORS + 1));
    assert_eq!(prepare(&sum).unwrap_err(), Refused::Operators(2));
    let product = "{{ 'a' * 9 }}\n".repeat(MAX_PRODUCTS + 1);
    assert_eq!(
        prepare(&product).unwrap_err(),
        Refused::Products(MAX_PRODUCTS + 1)
    );
    let own = "\n\n{% macro isogloss_bound() %}{% endmacro %}";
    assert_eq!(prepare(own).unwrap_err(), Refused::Reserved(3));
}

#[test]
fn a_template_that_loops_over_the_parts_of_a_content_is_told_from_others() {
    let reads = |source| prepare(source).unwrap().reads_parts;
    assert!(reads("{% for part in message.content %}"));
    assert!(reads("{% for part in messages[0]['content'] | list %}"));
    assert!(reads("{% set c = m['content'] %}{% for part in c %}"));
    assert!(reads("{% macro show(content) %}{% for part in content %}"));
    assert!(!reads("{% for message in messages %}{{ message.content }}"));
    assert!(!reads("{% for line in message.content.split('x') %}"));
    assert!(!reads("{% for x in y if x.content %}"));
}

#[test]
fn tools_and_their_role_are_looked_for_in_tags_alone() {
    let of = |source| {
        let prepared = prepare(source).unwrap();
        (prepared.names_tools, prepared.names_tool_role)
    };
    assert_eq!(of("tools 'tool' {# tools #}"), (false, false));
    assert_eq!(of("{% if tools %}"), (true, false));
    assert_eq!(of("{% if m.role == \"tool\" %}"), (false, true));
}
