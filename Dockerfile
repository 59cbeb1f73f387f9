# Images: `docker build --target sidecar .` (the proxy alone), `--target worker .` (with the decoding
# worker on the CPU; the default), `--target cuda .` (with the decoding worker on NVIDIA GPUs).
ARG CUDA=13.0.1

FROM rust:1-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends cmake g++ libclang-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .

FROM build AS build-sidecar
RUN cargo build --locked --release --no-default-features

FROM build AS build-worker
RUN cargo build --locked --release

FROM nvidia/cuda:${CUDA}-devel-ubuntu24.04 AS build-cuda
RUN apt-get update && apt-get install -y --no-install-recommends cmake g++ libclang-dev && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/cargo /usr/local/cargo
COPY --from=build /usr/local/rustup /usr/local/rustup
ENV PATH=/usr/local/cargo/bin:$PATH CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup
WORKDIR /src
COPY . .
# The build links against the driver's library, which only a machine with a GPU has.
ENV LIBRARY_PATH=/usr/local/cuda/lib64/stubs
# Every architecture that this CUDA knows takes an hour; these are Ampere to Blackwell.
ENV CMAKE_CUDA_ARCHITECTURES=80;86;89;90;100;120
RUN cargo build --locked --release --features cuda

FROM debian:bookworm-slim AS sidecar
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build-sidecar /src/target/release/isogloss /usr/local/bin/isogloss
USER 65532
EXPOSE 8080 9090
ENTRYPOINT ["isogloss"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--admin", "0.0.0.0:9090"]

FROM nvidia/cuda:${CUDA}-runtime-ubuntu24.04 AS cuda
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build-cuda /src/target/release/isogloss /usr/local/bin/isogloss
USER 65532
EXPOSE 8080 9090
ENTRYPOINT ["isogloss"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--admin", "0.0.0.0:9090", "--model", "/models"]

FROM debian:bookworm-slim AS worker
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libgomp1 && rm -rf /var/lib/apt/lists/*
COPY --from=build-worker /src/target/release/isogloss /usr/local/bin/isogloss
USER 65532
EXPOSE 8080 9090
ENTRYPOINT ["isogloss"]
CMD ["serve", "--listen", "0.0.0.0:8080", "--admin", "0.0.0.0:9090", "--model", "/models"]
