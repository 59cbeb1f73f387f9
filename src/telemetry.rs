//! Metric families and log lines. Label values come from closed sets only; client text never
//! becomes a label, and never reaches a log line above trace.

mod about;
mod families;
mod labels;
mod log;
mod metrics;
mod otlp;
mod process;
mod trace_context;
mod traces;

pub use about::About;
pub use families::{FAMILIES, Family, FamilyKind, families_markdown};
pub use labels::UNVERIFIED;
pub use log::{init, init_quiet, json_line};
pub use metrics::{
    CompileMetrics, Metrics, OpenGuard, Outcome, QueueRefusal, RequestLabels, RequestTimes,
    StoreWork,
};
pub use otlp::{Span, SpanKind, export};
pub use trace_context::TraceContext;
pub use traces::Traces;
