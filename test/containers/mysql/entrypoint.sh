#!/bin/sh
# Initialises the data directory at the first start, with the password of root, and runs the server.
set -eu
data=/var/lib/mysql
quoted() { printf %s "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/\\\\'/g"; }

init=/tmp/init.sql
: >"$init"
if [ ! -d "$data/mysql" ]; then
  mysqld --no-defaults --initialize-insecure --datadir="$data" >/dev/null
  password=$(quoted "$MYSQL_ROOT_PASSWORD")
  {
    echo "ALTER USER root@localhost IDENTIFIED BY '$password';"
    echo "CREATE USER root@'%' IDENTIFIED BY '$password';"
    echo "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"
  } >"$init"
fi
# Arguments are options of the server, as in the official image.
exec mysqld --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 \
  --secure-file-priv=NULL --mysqlx=OFF --init-file="$init" "$@"
