#!/bin/sh
# Makes the data of the server at the first start, with the root user's password, and serves them.
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
# A leading option is one of the server's, as with the official image.
exec mysqld --no-defaults --datadir="$data" --socket=/run/mysqld/mysqld.sock --bind-address=0.0.0.0 \
  --secure-file-priv=NULL --mysqlx=OFF --init-file="$init" "$@"
