FROM python:3.11.14-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /opt/tastetest \
 && /opt/tastetest/bin/pip install --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY clients/python clients/python
COPY service service
COPY workers workers
COPY migrations migrations
RUN /opt/tastetest/bin/pip install --no-deps --no-build-isolation ./clients/python . \
 && /opt/tastetest/bin/pip uninstall -y setuptools pip

FROM python:3.11.14-slim-bookworm
LABEL org.opencontainers.image.title="Tastetest" \
      org.opencontainers.image.description="How small can your benchmark be, and which comparisons can you still trust?" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --system --gid 10001 tastetest \
 && useradd --system --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin tastetest
COPY --from=build /opt/tastetest /opt/tastetest
ENV PATH=/opt/tastetest/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /tmp
USER 10001:10001
EXPOSE 8000
CMD ["tastetest", "serve", "--host", "0.0.0.0", "--workers", "0"]
