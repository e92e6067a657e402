# An image with the binary alone. `docker build -t wardroom .` builds it from the source.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags='-s -w' -o /root/image/wardroom ./cmd/wardroom \
 && mkdir -p /root/image/data /root/image/tmp /root/image/etc/ssl/certs && chmod 1777 /root/image/tmp \
 && cp /etc/ssl/certs/ca-certificates.crt /root/image/etc/ssl/certs/ && chown 65532:65532 /root/image/data

FROM scratch
COPY --from=build /root/image /
# Nobody in particular. A volume at /data belongs to this user when an engine creates it.
USER 65532:65532
WORKDIR /data
ENV HOST=0.0.0.0 DATA_DIR=/data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["/wardroom", "health"]
ENTRYPOINT ["/wardroom"]
CMD ["serve"]
