//! What is remembered of each choice of a reply.

/// By their index: few, and nearly always one, for which a tree would take room for eleven. Not for choices that nobody has
/// counted: one more may move all others.
#[derive(Debug)]
pub struct ByChoice<T>(Vec<(u32, T)>);

impl<T> ByChoice<T> {
    /// Of none so far.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Of how many.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none has come.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of this choice.
    #[must_use]
    pub fn get(&self, index: u32) -> Option<&T> {
        let at = self.at(index).ok()?;
        self.0.get(at).map(|(_, of)| of)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let at = self.at(index).ok()?;
        self.0.get_mut(at).map(|(_, of)| of)
    }

    /// Of this choice; where nothing is, what is made of nothing.
    pub fn get_or_insert_with(&mut self, index: u32, new: impl FnOnce() -> T) -> &mut T {
        let at = self.at(index).unwrap_or_else(|at| {
            if self.0.is_empty() {
                self.0.reserve_exact(1);
            }
            self.0.insert(at, (index, new()));
            at
        });
        &mut self.0[at].1
    }

    /// In order of the choices.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.0.iter().map(|(index, of)| (*index, of))
    }

    /// In order of the choices.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, of)| of)
    }

    /// The same, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, of)| of)
    }

    fn at(&self, index: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&index, |(index, _)| *index)
    }
}

impl<T> Default for ByChoice<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::ByChoice;

    #[test]
    fn choices_are_found_and_told_in_their_order_however_they_come() {
        let mut texts = ByChoice::new();
        for index in [2, 0, 7, 0, 2] {
            texts
                .get_or_insert_with(index, String::new)
                .push_str(&index.to_string());
        }
        let told: Vec<_> = texts.iter().map(|(index, text)| (index, &**text)).collect();
        assert_eq!(told, [(0, "00"), (2, "22"), (7, "7")]);
        assert_eq!(texts.get(7).map(String::as_str), Some("7"));
        assert_eq!(texts.get(1), None);
    }
}
