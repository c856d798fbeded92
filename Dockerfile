# The image of mlperf-go: docker build -t mlperf-go . (docs/how-to/release.md). `make release` writes the same image
# without Docker: scripts/release makes its files for both, and a test compares the last stage with what it writes.
FROM golang:1.26-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends cmake python3-pip python3-venv
WORKDIR /src
COPY . .
ARG VERSION
ARG TARGETARCH
RUN git config --global --add safe.directory /src && RELEASE_ARCHES=${TARGETARCH:-amd64} RELEASE_ROOTFS=/rootfs make release

FROM scratch
COPY --from=build /rootfs/ /
ENV MLPERF_GO_READY_FILE=/tmp/simulator.url
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/mlperf-go"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/usr/local/bin/mlperf-go", "sim", "--probe"]
