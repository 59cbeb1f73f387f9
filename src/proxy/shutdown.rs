//! The end of the proxy, in two steps: no new work, then no more time.

use tokio::sync::watch;

/// How far the shutdown is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Running,
    Draining,
    OutOfTime,
}

/// Where requests learn that they must end.
#[derive(Debug)]
pub(super) struct Shutdown(watch::Sender<Phase>);

impl Shutdown {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Phase::Running))
    }

    pub(super) fn begin(&self) {
        self.0.send_replace(Phase::Draining);
    }

    pub(super) fn out_of_time(&self) {
        self.0.send_replace(Phase::OutOfTime);
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow() >= Phase::Draining
    }

    /// Ends when no new work is taken.
    pub(super) fn begun(&self) -> impl Future<Output = ()> + Send + use<> {
        self.reached(Phase::Draining)
    }

    /// Ends when running requests must.
    pub(super) fn deadline(&self) -> impl Future<Output = ()> + Send + use<> {
        self.reached(Phase::OutOfTime)
    }

    fn reached(&self, awaited: Phase) -> impl Future<Output = ()> + Send + use<> {
        let mut phase = self.0.subscribe();
        async move {
            let reached = |phase: &Phase| *phase >= awaited;
            let is_gone = phase.wait_for(reached).await.is_err();
            if is_gone {
                // Nobody can say any more that the time is over.
                std::future::pending().await
            }
        }
    }
}
