# make image. The first stage builds the page of the dashboard, the second one the program, the third
# has what runs: no compiler, no build tool, nobody but an ordinary user, and nothing that has to be
# written to.
ARG NODE_IMAGE=node:24-slim
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${NODE_IMAGE} AS page
ARG PAGE=/opt/page
WORKDIR /page
COPY dashboard ./
RUN npm ci --no-progress
RUN npm run build -- --outDir "$PAGE"

FROM ${PYTHON_IMAGE} AS build
ARG INTO=/opt/rescheduler
ARG TOOLS=/opt/tools
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
ENV PIP_NO_INPUT=1
WORKDIR /source
COPY pyproject.toml requirements.lock README.md LICENSE ./
COPY src ./src
ARG PAGE=/opt/page
COPY --from=page ${PAGE} ${PAGE}
RUN mkdir -p src/rescheduler/serve/dashboard && cp -r "$PAGE" src/rescheduler/serve/dashboard/page
# By checksum, and as wheels alone, so that nothing is compiled.
RUN python3 -m venv "$TOOLS" && "$TOOLS/bin/pip" install --quiet --no-compile --only-binary :all: --require-hashes -r requirements.lock
RUN "$TOOLS/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$TOOLS/wheels" .
RUN python3 -m venv --without-pip "$INTO" && "$TOOLS/bin/pip" --python "$INTO/bin/python" install --quiet --no-compile --only-binary :all: --require-hashes -r requirements.lock
RUN "$TOOLS/bin/pip" --python "$INTO/bin/python" install --quiet --no-compile --no-deps "$TOOLS"/wheels/*.whl
RUN "$TOOLS/bin/pip" --python "$INTO/bin/python" check && "$TOOLS/bin/pip" --python "$INTO/bin/python" uninstall --quiet --yes editables hatchling
# What a start reads; of the Kubernetes client, thousands of modules, it is a few dozen.
RUN "$INTO/bin/python" -m compileall -q -x /kubernetes/ "$INTO/lib"

FROM ${PYTHON_IMAGE}
ARG INTO=/opt/rescheduler
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="kube-rescheduler"
LABEL org.opencontainers.image.description="Moves Kubernetes pods to where they belong, ready on the target before the old one goes."
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.version="${VERSION}"
LABEL org.opencontainers.image.revision="${REVISION}"
COPY --from=build ${INTO} ${INTO}
ENV PATH=${INTO}/bin:/usr/local/bin:/usr/bin:/bin
ENV PYTHONDONTWRITEBYTECODE=1
ENV PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8081
ENTRYPOINT ["rescheduler"]
CMD ["run"]
