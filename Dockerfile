# The Airflow side: scheduler, triggerer, DAG processor, API server and workers run this one image.
# A training image needs `pip install seedance-ops[training]` alone.
FROM python:3.11-slim-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc git libc6-dev \
 && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/seedance
ENV PATH=/opt/seedance/bin:$PATH PIP_NO_CACHE_DIR=1
WORKDIR /src
# torch first, from its CPU index: this image launches trainings on GPUs elsewhere, or on its own cores.
RUN pip install --index-url https://download.pytorch.org/whl/cpu torch==2.13.0
COPY pyproject.toml constraints.txt README.md ./
COPY seedance_ops ./seedance_ops
RUN pip install -c constraints.txt '.[embedded]' \
 # Every Airflow process pays for bytecode that is missing; one of torch's files is for Python 3.12.
 && (python -m compileall -q -j 0 /opt/seedance/lib || true)

FROM python:3.11-slim-bookworm
# docker build --build-arg GIT_COMMIT=$(git rev-parse HEAD) .   (the cluster-id of every run derives from it)
ARG GIT_COMMIT=
RUN apt-get update \
 && apt-get install -y --no-install-recommends git tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 50000 --gid 0 airflow
COPY --from=build /opt/seedance /opt/seedance
WORKDIR /opt/project
COPY --chown=50000:0 dags ./dags
COPY --chown=50000:0 plugins ./plugins
COPY --chown=50000:0 include ./include
COPY --chown=50000:0 examples ./examples
ENV PATH=/opt/seedance/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    AIRFLOW_HOME=/opt/airflow \
    SEEDANCE_PROJECT=/opt/project \
    SEEDANCE_GIT_COMMIT=$GIT_COMMIT
RUN mkdir -p /opt/airflow && chown 50000:0 /opt/airflow && chmod 770 /opt/airflow
USER 50000
VOLUME /opt/airflow
EXPOSE 8080
ENTRYPOINT ["tini", "--"]
CMD ["seedance", "up", "--host", "0.0.0.0"]
