FROM python:3.11.14-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock ./
RUN python -m venv /opt/tastetest \
 && /opt/tastetest/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml README.md ./
COPY service service
COPY workers workers
COPY migrations migrations
RUN /opt/tastetest/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11.14-slim-bookworm
RUN useradd --system --uid 10001 --no-create-home tastetest
COPY --from=build /opt/tastetest /opt/tastetest
ENV PATH=/opt/tastetest/bin:$PATH PYTHONUNBUFFERED=1
USER tastetest
EXPOSE 8000
CMD ["tastetest", "serve", "--host", "0.0.0.0", "--workers", "0"]
