# The service, for a Postgres of its own beside it (docker-compose.yml). The embedded server is not used here.
FROM python:3.13-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /source
COPY requirements.txt requirements-build.txt ./
RUN python -m pip install --no-deps --only-binary=:all: --require-hashes -r requirements-build.txt \
 && python -m venv --without-pip /opt/round-ledger \
 && uv pip install --python /opt/round-ledger/bin/python --no-deps --only-binary=:all: --require-hashes --compile-bytecode \
      -r requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY cli cli
COPY ledger ledger
COPY projections projections
COPY seeds seeds
RUN python -m hatchling build -t wheel -d dist \
 && uv pip install --python /opt/round-ledger/bin/python --offline --no-deps --compile-bytecode dist/*.whl

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --create-home roundledger
COPY --from=build /opt/round-ledger /opt/round-ledger
ENV PATH=/opt/round-ledger/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /home/roundledger
EXPOSE 8044
ENTRYPOINT ["roundledger"]
CMD ["--help"]
