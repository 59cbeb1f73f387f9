//! The end of the proxy, in two steps: no new work, then no more time.

use std::sync::Arc;
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
pub(super) struct Shutdown {
    phase: watch::Sender<Phase>,
    /// How many wait until nothing is asked here any more.
    leaving: watch::Sender<usize>,
}

/// Somebody waits until nothing is asked here any more: as long as this lives, clients are told to open another connection
/// for their next request, since balancers leave those that are open where they are.
#[derive(Debug)]
pub struct Leaving(Arc<Shutdown>);

impl Leaving {
    pub(super) fn new(shutdown: &Arc<Shutdown>) -> Self {
        shutdown.leaving.send_modify(|waiting| *waiting += 1);
        Self(Arc::clone(shutdown))
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.leaving.send_modify(|waiting| *waiting -= 1);
    }
}

impl Shutdown {
    pub(super) fn new() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Running),
            leaving: watch::Sender::new(0),
        }
    }

    /// Whether clients are to open another connection for their next request.
    pub(super) fn is_leaving(&self) -> bool {
        *self.leaving.borrow() > 0
    }

    /// Ends when somebody begins to wait until nothing is asked here any more.
    pub(super) fn left(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut leaving = self.leaving.subscribe();
        async move {
            while leaving.changed().await.is_ok() {
                if *leaving.borrow_and_update() > 0 {
                    return;
                }
            }
            std::future::pending().await
        }
    }

    pub(super) fn begin(&self) {
        self.phase.send_replace(Phase::Draining);
    }

    pub(super) fn out_of_time(&self) {
        self.phase.send_replace(Phase::OutOfTime);
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.phase.borrow() >= Phase::Draining
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
        let mut phase = self.phase.subscribe();
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
