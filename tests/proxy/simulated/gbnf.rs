//! GBNF as a server reads it: the text comes in, the same language in llguidance's Lark goes out,
//! one terminal a character.

use std::iter::Peekable;
use std::str::Chars;

/// The grammar in Lark; the error names what is wrong.
pub(crate) fn to_lark(text: &str) -> Result<String, String> {
    let tokens = tokens(text)?;
    let mut rules = String::new();
    let mut at = 0;
    while at < tokens.len() {
        let (Token::Name(name), Some(Token::Is)) = (&tokens[at], tokens.get(at + 1)) else {
            return Err("a rule must begin with `name ::=`".to_owned());
        };
        let begin = at + 2;
        at = begin;
        while at < tokens.len() && !matches!(tokens.get(at + 1), Some(Token::Is)) {
            at += 1;
        }
        let body: Vec<String> = tokens[begin..at].iter().map(Token::lark).collect();
        let body = body.join(" ");
        rules.push_str(&format!("{}: {body}\n", lark_name(name)));
    }
    if !rules.lines().any(|rule| rule.starts_with("start:")) {
        return Err("there is no rule `root`".to_owned());
    }
    Ok(rules)
}

fn lark_name(name: &str) -> String {
    match name {
        "root" => "start".to_owned(),
        _ => format!("r_{}", name.replace('-', "_d_").to_lowercase()),
    }
}

#[derive(Debug)]
enum Token {
    Name(String),
    Is,
    /// `|`, brackets and repetitions.
    Sign(String),
    Text(String),
    Class(String),
}

impl Token {
    fn lark(&self) -> String {
        match self {
            Self::Name(name) => lark_name(name),
            Self::Is => unreachable!("a rule's sign is not part of its body"),
            Self::Sign(sign) => sign.clone(),
            Self::Text(text) if text.is_empty() => "\"\"".to_owned(),
            Self::Text(text) => {
                let letters = text.chars().map(|c| format!("/{}/", escaped(c)));
                format!("({})", letters.collect::<Vec<_>>().join(" "))
            }
            Self::Class(class) => format!("/{class}/"),
        }
    }
}

fn escaped(c: char) -> String {
    format!("\\x{{{:x}}}", u32::from(c))
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            _ if c.is_whitespace() => {}
            '#' => while chars.next().is_some_and(|c| c != '\n') {},
            ':' => {
                if chars.next() != Some(':') || chars.next() != Some('=') {
                    return Err("`::=` is expected".to_owned());
                }
                tokens.push(Token::Is);
            }
            '|' | '(' | ')' | '*' | '+' | '?' => tokens.push(Token::Sign(c.to_string())),
            '.' => tokens.push(Token::Class("(?s:.)".to_owned())),
            '{' => {
                let mut count = String::from("{");
                for c in chars.by_ref() {
                    count.push(c);
                    if c == '}' {
                        break;
                    }
                }
                tokens.push(Token::Sign(count));
            }
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next_if(|c| *c != '"') {
                    text.push(letter(c, &mut chars)?);
                }
                chars.next().ok_or("a text does not end")?;
                tokens.push(Token::Text(text));
            }
            '[' => tokens.push(Token::Class(class(&mut chars)?)),
            _ if c.is_ascii_alphanumeric() || c == '_' => {
                let mut name = c.to_string();
                let is_more = |c: &char| c.is_ascii_alphanumeric() || *c == '-' || *c == '_';
                while let Some(c) = chars.next_if(is_more) {
                    name.push(c);
                }
                tokens.push(Token::Name(name));
            }
            _ => return Err(format!("`{c}` is not expected")),
        }
    }
    Ok(tokens)
}

fn class(chars: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut class = String::from("[");
    if chars.next_if_eq(&'^').is_some() {
        class.push('^');
    }
    while let Some(c) = chars.next_if(|c| *c != ']') {
        class.push_str(&escaped(letter(c, chars)?));
        if chars.next_if_eq(&'-').is_some() {
            match chars.next_if(|c| *c != ']') {
                Some(c) => class.push_str(&format!("-{}", escaped(letter(c, chars)?))),
                None => class.push_str("\\-"),
            }
        }
    }
    chars.next().ok_or("a class does not end")?;
    class.push(']');
    Ok(class)
}

fn letter(c: char, chars: &mut Peekable<Chars<'_>>) -> Result<char, String> {
    if c != '\\' {
        return Ok(c);
    }
    match chars.next() {
        Some('n') => Ok('\n'),
        Some('r') => Ok('\r'),
        Some('t') => Ok('\t'),
        Some('x') => hex(chars, 2),
        Some('u') => hex(chars, 4),
        Some('U') => hex(chars, 8),
        Some(c) => Ok(c),
        None => Err("an escape does not end".to_owned()),
    }
}

fn hex(chars: &mut Peekable<Chars<'_>>, digits: usize) -> Result<char, String> {
    let text: String = chars.by_ref().take(digits).collect();
    let code = u32::from_str_radix(&text, 16).ok().and_then(char::from_u32);
    code.ok_or_else(|| "an escape is no character".to_owned())
}
