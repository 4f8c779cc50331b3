/** Verifies that the link of control plane and gateways admits only peers with the right certificates. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ControlLink } from '../../../src/control-link/control-link.ts';
import { createLinkListener } from '../../../src/control-link/link-listener.ts';
import { linkPaths } from '../../../src/control-link/link-paths.ts';
import { timeRoute } from '../../../src/control-link/time-route.ts';
import { createLog } from '../../../src/log.ts';
import { Secret } from '../../../src/secret.ts';
import { createPki, type IssuedCertificate, type Pki } from '../../support/callers/pki.ts';

let pki: Pki;
let ca: string;
let server: IssuedCertificate;
let client: IssuedCertificate;
const clientName = 'gatewright-data-plane';

beforeAll(() => {
  pki = createPki();
  const authority = pki.authority('link');
  ca = authority.cert;
  server = authority.issue({ name: 'control', altNames: 'IP:127.0.0.1' });
  client = authority.issue({ name: 'gateway', altNames: `DNS:${clientName}` });
});
afterAll(() => pki[Symbol.dispose]());

const certificatesOf = ({ cert, key }: IssuedCertificate, authorities = ca) => ({
  ca: authorities,
  cert,
  key: new Secret(key, 'test'),
});

async function startListener(present: () => IssuedCertificate = () => server) {
  const lines: string[] = [];
  const listener = createLinkListener({
    readCertificates: () => certificatesOf(present()),
    clientNames: [clientName],
    connectionsMax: 100,
    routes: [timeRoute(async () => 1_234)],
    classifyError: () => 'internal',
    observe: () => undefined,
    onRefusedBytes: () => undefined,
    onUnexpectedError: () => undefined,
    now: () => 1_000,
    log: createLog({ level: 'info', destination: { write: (line) => lines.push(line) > 0 } }),
  });
  const url = new URL(await listener.listen('127.0.0.1', 0));
  onTestFinished(() => listener.close(0));
  return { url, lines };
}

function linkTo(url: URL, certificates: ReturnType<typeof certificatesOf>): ControlLink {
  const link = new ControlLink({
    url,
    readCertificates: () => certificates,
    proxies: null,
    onUnusable: (error) => {
      throw error;
    },
  });
  onTestFinished(() => link[Symbol.asyncDispose]());
  return link;
}

describe('the link', () => {
  it('serves a gateway whose certificate contains the allowed name', async () => {
    const { url } = await startListener();
    const answer = await linkTo(url, certificatesOf(client)).read(linkPaths.time, {});
    expect(JSON.parse(answer.toString())).toEqual({ now_ms: 1_234 });
  });

  const others: [string, () => IssuedCertificate][] = [
    [
      'of another authority',
      () => pki.authority('other').issue({ name: 'x', altNames: `DNS:${clientName}` }),
    ],
    ['without a name', () => pki.authority('again').issue({ name: clientName })],
  ];
  it.each(others)('refuses a certificate %s', async (_, issue) => {
    const { url } = await startListener();
    const link = linkTo(url, certificatesOf(issue()));
    await expect(link.read(linkPaths.time, {})).rejects.toThrow('Cannot use the control plane');
  });

  it('refuses certificates of its authority without the name or out of date, and logs why', async () => {
    const authority = pki.authority('own');
    const { url, lines } = await startListenerOf(authority.cert, authority);
    const wrong = [
      authority.issue({ name: clientName }),
      authority.issue({ name: 'wild', altNames: 'DNS:*' }),
      authority.issue({ name: 'other', altNames: 'DNS:gatewright-control' }),
      authority.issue({
        name: 'old',
        altNames: `DNS:${clientName}`,
        fromDays: -3,
        untilDays: -1,
      }),
    ];
    for (const one of wrong) {
      const link = linkTo(url, certificatesOf(one, authority.cert));
      await expect(link.read(linkPaths.time, {})).rejects.toThrow('Cannot use the control plane');
    }
    expect(lines.join('')).toContain('and for none of gatewright-data-plane');
  });

  it('does not talk to a server whose certificate is for another address', async () => {
    const authority = pki.authority('elsewhere');
    const { url } = await startListenerOf(authority.cert, authority, 'DNS:control.example.com');
    const gateway = authority.issue({ name: 'gateway', altNames: `DNS:${clientName}` });
    const link = linkTo(url, certificatesOf(gateway, authority.cert));
    await expect(link.read(linkPaths.time, {})).rejects.toThrow('Cannot use the control plane');
  });

  it('refuses clients without a certificate and plain HTTP', async () => {
    const { url } = await startListener();
    await expect(fetch(url)).rejects.toThrow();
    await expect(fetch(`http://${url.host}${linkPaths.time}`)).rejects.toThrow();
  });

  it('says that nothing was sent when no server listens', async () => {
    const { url } = await startListener();
    const link = linkTo(new URL(`https://127.0.0.1:1`), certificatesOf(client));
    await expect(link.post(linkPaths.time, {})).rejects.toMatchObject({
      name: 'DatabaseUnavailable',
    });
    expect(url.protocol).toBe('https:');
  });
});

async function startListenerOf(
  authorities: string,
  authority: ReturnType<Pki['authority']>,
  altNames = 'IP:127.0.0.1',
) {
  const lines: string[] = [];
  const own = authority.issue({ name: 'server', altNames });
  const listener = createLinkListener({
    readCertificates: () => certificatesOf(own, authorities),
    clientNames: [clientName],
    connectionsMax: 100,
    routes: [timeRoute(async () => 1_234)],
    classifyError: () => 'internal',
    observe: () => undefined,
    onRefusedBytes: () => undefined,
    onUnexpectedError: () => undefined,
    now: () => 1_000,
    log: createLog({ level: 'info', destination: { write: (line) => lines.push(line) > 0 } }),
  });
  const url = new URL(await listener.listen('127.0.0.1', 0));
  onTestFinished(() => listener.close(0));
  return { url, lines };
}
