//! An object as Google's JSON reader takes it: each name in camelCase or in snake_case, `null` for what is
//! not there, and one object where a list of them is meant.

use crate::error::{Error, Kind};
use crate::ir::{Fields, Origin};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An object of which each member is taken once, by its name in camelCase.
#[derive(Debug)]
pub(in crate::dialect::gemini) struct Object {
    at: Option<Origin>,
    /// By the name in camelCase: the name as the client wrote it, and the value.
    left: IndexMap<String, (String, Box<RawValue>)>,
}

pub(in crate::dialect::gemini) fn invalid(at: &Origin, problem: &str) -> Error {
    Error::new(Kind::InvalidRequest, format!("`{at}` {problem}")).at(at.0.clone())
}

/// A name in camelCase.
pub(in crate::dialect::gemini) fn camel(name: &str) -> Cow<'_, str> {
    let name = name.trim_start_matches('_');
    if !name.contains('_') {
        return Cow::Borrowed(name);
    }
    let mut words = name.split('_');
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.push_str(letters.as_str());
    }
    Cow::Owned(out)
}

impl Object {
    /// The members of an object; `at` is where it stands, nothing for the body.
    ///
    /// # Errors
    /// A member that stands there in both spellings.
    pub(in crate::dialect::gemini) fn of(
        fields: &Fields,
        at: Option<Origin>,
    ) -> Result<Self, Error> {
        let mut out = Self {
            at,
            left: IndexMap::new(),
        };
        for (own, value) in &fields.0 {
            let known = (own.clone(), value.clone());
            if let Some((other, _)) = out.left.insert(camel(own).into_owned(), known) {
                let at = out.below(own);
                let problem = format!("and `{other}` are two spellings of one field: send one");
                return Err(invalid(&at, &problem));
            }
        }
        Ok(out)
    }

    /// Reads an object that stands somewhere.
    ///
    /// # Errors
    /// It is none.
    pub(in crate::dialect::gemini) fn read(raw: &RawValue, at: Origin) -> Result<Self, Error> {
        let fields = serde_json::from_str(raw.get());
        let fields = fields.map_err(|_| invalid(&at, "must be an object"))?;
        Self::of(&fields, Some(at))
    }

    fn below(&self, own: &str) -> Origin {
        match &self.at {
            None => Origin::new(own),
            Some(at) => at.member(own),
        }
    }

    /// Where a member stands, or would.
    pub(in crate::dialect::gemini) fn origin(&self, name: &str) -> Origin {
        let own = self.left.get(name).map_or(name, |(own, _)| own.as_str());
        self.below(own)
    }

    /// A member and where it stands; what is null is not there.
    pub(in crate::dialect::gemini) fn raw(
        &mut self,
        name: &str,
    ) -> Option<(Origin, Box<RawValue>)> {
        let origin = self.origin(name);
        let (_, value) = self.left.shift_remove(name)?;
        (value.get() != "null").then_some((origin, value))
    }

    /// A member of a known type.
    ///
    /// # Errors
    /// It is not `expected`.
    pub(in crate::dialect::gemini) fn take<T: DeserializeOwned>(
        &mut self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, Error> {
        let Some((origin, value)) = self.raw(name) else {
            return Ok(None);
        };
        let value = serde_json::from_str(value.get());
        value
            .map(Some)
            .map_err(|_| invalid(&origin, &format!("must be {expected}")))
    }

    /// A member that is an object.
    ///
    /// # Errors
    /// It is none.
    pub(in crate::dialect::gemini) fn object(&mut self, name: &str) -> Result<Option<Self>, Error> {
        let member = self.raw(name);
        member
            .map(|(origin, value)| Self::read(&value, origin))
            .transpose()
    }

    /// The objects of a list, each with where it stands; one that stands alone is a list of one.
    ///
    /// # Errors
    /// It is neither.
    pub(in crate::dialect::gemini) fn objects(&mut self, name: &str) -> Result<Vec<Self>, Error> {
        match self.raw(name) {
            None => Ok(Vec::new()),
            Some((origin, value)) => listed(&value, &origin),
        }
    }

    /// Where the object stands.
    pub(in crate::dialect::gemini) fn at(&self) -> Origin {
        self.at.clone().unwrap_or_else(|| Origin::new(""))
    }

    /// What has not been taken: where it stands.
    pub(in crate::dialect::gemini) fn rest(&self) -> Vec<Origin> {
        let said =
            |(_, value): &&(String, Box<RawValue>)| !matches!(value.get(), "null" | "[]" | "\"\"");
        let left = self.left.values().filter(said);
        left.map(|(own, _)| self.below(own)).collect()
    }
}

/// The objects of a list.
///
/// # Errors
/// It is none, and no object either.
pub(in crate::dialect::gemini) fn listed(
    raw: &RawValue,
    origin: &Origin,
) -> Result<Vec<Object>, Error> {
    if raw.get().starts_with('{') {
        return Ok(vec![Object::read(raw, origin.clone())?]);
    }
    let items: Vec<Box<RawValue>> = serde_json::from_str(raw.get())
        .map_err(|_| invalid(origin, "must be a list of objects"))?;
    let items = items.iter().enumerate();
    items
        .map(|(index, item)| Object::read(item, origin.item(index)))
        .collect()
}
