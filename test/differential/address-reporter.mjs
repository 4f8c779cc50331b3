/** Binds a program that uses any free port to loopback, reports its address to the parent, and ends with it. */
import { Server } from 'node:net';

const { listen } = Server.prototype;

Server.prototype.listen = function (port, _host, ...rest) {
  this.once('listening', () => process.send(this.address()));
  return listen.call(this, port, '127.0.0.1', ...rest);
};

process.on('disconnect', () => process.exit());
