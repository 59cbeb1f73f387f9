//! The objects and arrays that are open, and whether brackets that are missing at the end of a
//! text could as well be missing before it: what follows them would then belong to another object.

#[derive(Debug, Clone, Copy)]
struct Level {
    is_object: bool,
    /// Keys, or items.
    members: usize,
    /// Its last member ends with an object of several keys.
    has_objects: bool,
    /// Its last member ends with an array of several items.
    has_arrays: bool,
}

/// The open objects and arrays, the innermost last.
#[derive(Debug, Clone)]
pub(super) struct Levels(Vec<Level>);

impl Levels {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the innermost is an object.
    pub(super) fn is_object(&self) -> bool {
        self.0.last().is_some_and(|level| level.is_object)
    }

    pub(super) fn open(&mut self, is_object: bool) {
        self.0.push(Level {
            is_object,
            members: 0,
            has_objects: false,
            has_arrays: false,
        });
    }

    pub(super) fn key(&mut self) {
        if let Some(level) = self.0.last_mut() {
            level.members += 1;
        }
    }

    pub(super) fn value(&mut self) {
        if let Some(level) = self.0.last_mut().filter(|level| !level.is_object) {
            level.members += 1;
        }
    }

    /// Another member follows: the last one is closed for certain.
    pub(super) fn comma(&mut self) {
        if let Some(level) = self.0.last_mut() {
            level.has_objects = false;
            level.has_arrays = false;
        }
    }

    pub(super) fn close(&mut self) {
        let Some(closed) = self.0.pop() else {
            return;
        };
        if let Some(level) = self.0.last_mut() {
            let is_long = closed.members > 1;
            level.has_objects = closed.has_objects || closed.is_object && is_long;
            level.has_arrays = closed.has_arrays || !closed.is_object && is_long;
        }
    }

    /// Whether what is open can only be closed at the end of the text: nothing in it could belong
    /// to an object or array around it. An envelope's keys are known, so nothing belongs to it.
    pub(super) fn are_closed_here(&self, is_envelope: bool) -> bool {
        let mut levels = self.clone();
        let frame = match (is_envelope, self.0.first()) {
            (true, Some(root)) => 1 + usize::from(!root.is_object),
            _ => 0,
        };
        while levels.len() > frame {
            let Some(level) = levels.0.last() else {
                break;
            };
            if level.is_object && level.has_objects || !level.is_object && level.has_arrays {
                return false;
            }
            // Of what is kept, nothing may be lost at a level of the other kind.
            let (objects, arrays) = (level.has_objects, level.has_arrays);
            levels.close();
            if let Some(around) = levels.0.last_mut() {
                around.has_objects |= objects;
                around.has_arrays |= arrays;
            }
        }
        true
    }
}
