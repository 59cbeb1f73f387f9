//! The demands, servers and judge of `tests/adversary`, for fuzzers: what was compiled once is kept.

use isogloss_core::exchange::{self, End, StreamTranslator};
use isogloss_core::ir::Ids;
use isogloss_core::schema::SchemaLimits;
use isogloss_core::verify::Checks;
use isogloss_testing::adversary::case::{Cell, World};
use isogloss_testing::adversary::fold::{Came, Fault, Folded};
use isogloss_testing::adversary::judge::Judge;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// All that is the same for every input.
pub struct Stage {
    pub world: World,
    pub judge: Judge,
    /// Of each demand.
    checks: HashMap<usize, Arc<Checks>>,
}

/// The one of this process.
pub fn stage() -> &'static Stage {
    static STAGE: OnceLock<Stage> = OnceLock::new();
    STAGE.get_or_init(|| {
        let world = World::planned();
        let mut checks = HashMap::new();
        for cell in world.cells.iter().flatten() {
            checks.entry(cell.demand).or_insert_with(|| {
                let compiled = cell.exchange.clone().compile(&SchemaLimits::default());
                compiled.expect("a demand of the pool")
            });
        }
        let judge = Judge::new(&world.demands);
        Stage {
            world,
            judge,
            checks,
        }
    })
}

impl Stage {
    pub fn checks(&self, cell: &Cell) -> Arc<Checks> {
        Arc::clone(&self.checks[&cell.demand])
    }

    /// What the client gets of these pieces of a stream, and whether it is a success.
    pub fn stream<'a>(
        &self,
        cell: &Cell,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<u8>, bool) {
        let checks = self.checks(cell);
        let mut translator = StreamTranslator::new(&cell.exchange, checks, Ids::new(7), 1 << 20);
        let mut out = Vec::new();
        for piece in pieces {
            if translator.push(piece, &mut out).is_err() {
                return (out, false);
            }
        }
        let ended = translator.finish(End::Eof, &mut out);
        (out, ended.is_ok())
    }

    /// What the client gets of a whole reply, where it is a success.
    pub fn whole(&self, cell: &Cell, body: &[u8], is_stream: bool) -> Option<Vec<u8>> {
        let checks = self.checks(cell);
        let reply = if is_stream {
            exchange::reply_of_events(&cell.exchange, &checks, Ids::new(7), body)
        } else {
            exchange::reply(&cell.exchange, &checks, Ids::new(7), body)
        };
        reply.ok().map(|reply| reply.body)
    }

    /// The readers' views of a success; every one must have what the demand asks for.
    ///
    /// # Panics
    /// One has not.
    pub fn judged(&self, cell: &Cell, out: &[u8], is_stream: bool) -> Vec<Folded> {
        let demand = self.world.demand(cell);
        let Came::Success(views) = demand.client.fold(200, out, is_stream) else {
            panic!(
                "{}: no success: {}",
                demand.id,
                String::from_utf8_lossy(out)
            );
        };
        for view in &views {
            let faults = self
                .judge
                .faults(demand, cell.choices, view, &mut Vec::new());
            assert_none(&demand.id, &faults, out);
        }
        views
    }
}

/// # Panics
/// There is a fault, and no note.
pub fn assert_none(demand: &str, faults: &[Fault], out: &[u8]) {
    let fault = faults.iter().find(|fault| !fault.kind.starts_with("note"));
    assert!(
        fault.is_none(),
        "{demand}: {fault:?}: {}",
        String::from_utf8_lossy(out)
    );
}
