//! The tower stack of the data listener. The only list of its layers, outermost first.

use super::App;
use super::access::AccessLayer;
use super::account::AccountLayer;
use super::admit::AdmitLayer;
use super::body::BoxError;
use super::body_limit::BodyLimitLayer;
use super::body_pace::{BodyPaceLayer, Pace};
use super::headers;
use super::origins::{self, Perhaps};
use super::request_id::{Ids, RequestIdLayer};
use super::rescue::{self, RescueLayer};
use super::route::Route;
use super::shutdown::Shutdown;
use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, StatusCode, Uri};
use isogloss_core::passage;
use std::convert::Infallible;
use std::sync::Arc;
use tower::{Service, ServiceBuilder};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::trace::TraceLayer;
use tracing::Span;

/// The stack that a request goes through.
///
/// Extensions that layers add for others: `request_id::Ids` (for the span), `account::Record`
/// (for the route to fill), `body_limit::Announced` and `admit::Seat` (for the route), and in replies
/// `error::Kind` (for the account).
///
/// What goes upstream of credentials is no layer: that depends on the server, so
/// `upstream::Upstream` decides when it sends.
pub(super) fn stack<B>(
    app: &Arc<App>,
) -> impl Service<
    Request<B>,
    Response = Response<
        impl http_body::Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + 'static + use<B>,
    >,
    Error = Infallible,
    Future: Send,
> + Clone
+ Send
+ Sync
+ use<B>
+ 'static
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + Sync + 'static,
{
    let limits = &app.config.limits;
    let metrics = || Arc::clone(&app.metrics);
    let pace = Pace {
        pause: app.config.timeouts.body,
        rate: limits.body_rate,
    };
    let shutdown = Arc::clone(&app.shutdown);
    ServiceBuilder::new()
        // Every reply has an id, whoever makes it.
        .layer(RequestIdLayer)
        // Routes have one path from here on.
        .map_request(without_vendor)
        // Every line that is logged below carries the id.
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_response(())
                .on_body_chunk(())
                .on_eos(())
                .on_failure(()),
        )
        // Says in whatever is answered below that a page may read it, and answers preflights.
        .option_layer(origins::layer(&app.config.origins))
        .map_response(move |reply: Response<_>| leaving(&shutdown, reply.map(Perhaps::of)))
        // Counts whatever is answered below, and a client that goes away at any time.
        .layer(AccountLayer::new(metrics(), Arc::clone(&app.journal)))
        // A panic below is an error of one request; outside the rescue, which must not panic either.
        .layer(CatchPanicLayer::custom(rescue::panicked))
        // Errors below become replies.
        .layer(RescueLayer)
        // Before the body: a stranger's is not waited for.
        .layer(AccessLayer::new(Arc::clone(&app.clients), metrics()))
        // Before the place in the house: what is announced as too large never takes one.
        .layer(BodyLimitLayer::new(limits.body_bytes, metrics()))
        // A body that hardly arrives must not keep its connection.
        .layer(BodyPaceLayer(pace))
        // Innermost, so that refusing is all that an overloaded proxy does.
        .layer(AdmitLayer::new(app.places.clone(), metrics()))
        .service(Route::new(Arc::clone(app)))
}

/// The reply, which says where that is so that its client is to open another connection for the next request. (HTTP/2 has no such
/// header: `serve` says it there.)
fn leaving<B>(shutdown: &Shutdown, mut reply: Response<B>) -> Response<B> {
    if shutdown.is_leaving() && reply.status() != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        reply.headers_mut().insert(CONNECTION, close);
    }
    reply
}

/// In the extensions of a request whose path named the model.
#[derive(Debug, Clone)]
pub(super) struct Deployment(pub(super) String);

/// The request on the plain path of its route, where its client has it under a vendor's.
fn without_vendor<B>(mut request: Request<B>) -> Request<B> {
    let Some(found) = passage::without_vendor(request.uri().path()) else {
        return request;
    };
    let deployment = found.deployment.map(Deployment);
    let target = match request.uri().query() {
        Some(query) => format!("{}?{query}", found.path),
        None => found.path,
    };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = target.try_into().ok();
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    if let Some(deployment) = deployment {
        request.extensions_mut().insert(deployment);
    }
    // Azure's own header for a key, which no other server knows.
    headers::rename_key(Some(("api-key", None)), None, request.headers_mut());
    request
}

fn span<B>(request: &Request<B>) -> Span {
    let ids = request.extensions().get::<Ids>();
    tracing::info_span!(
        "request",
        request_id = ids.and_then(|ids| ids.ours.to_str().ok()),
        client_request_id = ids.and_then(|ids| ids.client.as_deref()),
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    /// The stack's type names its services from the outside in.
    fn type_name_of<T>(_value: &T) -> &'static str {
        std::any::type_name::<T>()
    }

    #[tokio::test]
    async fn the_layers_are_in_this_order() {
        let app = crate::proxy::tests::house().app();
        let name = type_name_of(&super::stack::<hyper::body::Incoming>(&app));
        let order = [
            "request_id::RequestId<",
            "trace::service::Trace<",
            "account::Account<",
            "catch_panic::CatchPanic<",
            "rescue::Rescue<",
            "access::Accessed<",
            "body_limit::BodyLimit<",
            "body_pace::BodyPace<",
            "admit::Admit<",
            "route::Route",
        ];
        let places: Vec<_> = order
            .iter()
            .map(|layer| name.find(layer).expect(layer))
            .collect();
        assert!(places.is_sorted(), "{name}");
    }
}
