/** Knows how a program that takes any free port is kept to this machine, and tells its parent where it listens. */
import { Server } from 'node:net';

const { listen } = Server.prototype;

Server.prototype.listen = function (port, _host, ...rest) {
  this.once('listening', () => process.send(this.address()));
  return listen.call(this, port, '127.0.0.1', ...rest);
};
