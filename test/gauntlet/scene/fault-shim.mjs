/** Preloaded into processes of the product: shifts their clock and resolves test names as a file says. */
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const pollMs = 50;
let state = { clockOffMs: 0, hosts: {} };

function read() {
  try {
    state = JSON.parse(readFileSync(process.env.GAUNTLET_SHIM, 'utf8'));
  } catch {
    // It is being replaced.
  }
}

read();
setInterval(read, pollMs).unref();

const realNow = Date.now;
Date.now = () => realNow() + state.clockOffMs;

const realLookup = dns.lookup;
dns.lookup = (name, ...rest) => {
  const address = state.hosts[name];
  if (address === undefined) return realLookup(name, ...rest);
  const done = rest.at(-1);
  const isAll = typeof rest[0] === 'object' && rest[0].all === true;
  setImmediate(() => {
    if (address === null) {
      done(Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: 'EAI_AGAIN' }));
    } else if (isAll) done(null, [{ address, family: 4 }]);
    else done(null, address, 4);
  });
};
syncBuiltinESMExports();
