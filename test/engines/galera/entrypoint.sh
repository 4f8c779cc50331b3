#!/bin/sh
# Starts the node NAME. The very first start of the first node creates the cluster; every other start joins NODES.
set -eu
data=/var/lib/mysql
if [ ! -d "$data/mysql" ]; then
  # Each statement must be on one line. Only the first node's users count; joining nodes copy its state.
  cat >/tmp/users.sql <<SQL
FLUSH PRIVILEGES;
CREATE USER root@'%' IDENTIFIED BY '$MARIADB_ROOT_PASSWORD';
GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;
SQL
  mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve --extra-file=/tmp/users.sql >/dev/null
fi
# A node with a saved state has run before and joins the existing cluster.
if [ "${FIRST:-}" = 1 ] && [ ! -f "$data/grastate.dat" ]; then
  set -- --wsrep-new-cluster "$@"
  cluster=gcomm://
else
  cluster=gcomm://$NODES
fi
exec mariadbd --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 \
  --skip-name-resolve --character-set-server=utf8mb4 \
  --binlog-format=ROW --innodb-autoinc-lock-mode=2 --innodb-flush-log-at-trx-commit=0 \
  --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so --wsrep-cluster-name=gatewright \
  --wsrep-cluster-address="$cluster" --wsrep-node-name="$NAME" --wsrep-node-address="$NAME" \
  --wsrep-provider-options="gmcast.listen_addr=tcp://0.0.0.0:4567;ist.recv_bind=0.0.0.0" \
  --wsrep-sst-method=rsync --wsrep-sync-wait=7 "$@"
