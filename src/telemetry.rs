//! Metric families, spans and the access log. Label values come from closed sets only.
