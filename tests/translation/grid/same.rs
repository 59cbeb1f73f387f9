//! Whatever a model says rightly, a client hears the same, whole and streamed, however the stream is cut.

use super::{got, heard};
use isogloss_testing::adversary::case::World;
use isogloss_testing::adversary::clients::Dialect;
use isogloss_testing::adversary::judge::is_same;
use isogloss_testing::adversary::source::{Seeded, Source as _};
use isogloss_testing::adversary::speak::holds_one;
use isogloss_testing::adversary::values::answer;

#[test]
fn every_client_hears_the_same_whole_and_streamed_however_it_is_cut() {
    let world = World::planned();
    let mut count = 0;
    for (server, cells) in world.cells.iter().enumerate() {
        let others = cells
            .iter()
            .filter(|cell| world.demand(cell).client != Dialect::Chat);
        let others: Vec<_> = others.collect();
        // Whole and streamed stand next to each other.
        for (place, pair) in others.chunks(2).enumerate() {
            let [whole, streamed] = pair else {
                panic!("a demand is asked in both ways");
            };
            assert_eq!(
                (whole.demand, whole.stream, streamed.stream),
                (streamed.demand, false, true)
            );
            if (place + server) % 3 != 0 {
                continue;
            }
            let demand = world.demand(whole);
            let seed = (server * 1000 + place) as u64;
            let said = answer(
                demand,
                holds_one(&whole.exchange.plan.rewrap),
                false,
                &mut Seeded(seed),
            );
            let context = format!("{} {} {seed} {said:?}", server, demand.id);
            let once = got(&whole.exchange, &said, &mut Seeded(seed), None);
            let once = once.unwrap_or_else(|fault| panic!("{context}: {fault}"));
            let once = heard(demand.client, &once, false);
            assert!(
                is_same(std::slice::from_ref(&said), &once),
                "{context}: {once:?}"
            );
            let steps = [1, 1 + Seeded(seed).below(40), 1 << 20];
            let streams = steps.map(|step| {
                let bytes = got(&streamed.exchange, &said, &mut Seeded(seed), Some(step));
                bytes.unwrap_or_else(|fault| panic!("{context}: {fault}"))
            });
            assert!(
                streams.iter().all(|bytes| *bytes == streams[0]),
                "{context}"
            );
            let stream = heard(demand.client, &streams[0], true);
            assert!(is_same(&[said], &stream), "{context}: {stream:?}");
            assert_eq!(
                once.choices[&0].finish, stream.choices[&0].finish,
                "{context}"
            );
            count += 1;
        }
    }
    assert!(count > 500, "{count}");
}
