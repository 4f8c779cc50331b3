/** Tests which addresses an administrator may configure, judged by their text alone. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outboundUrlFault } from '../../../src/model/services/outbound-url.ts';
import { readTrustedHosts, type TrustedHosts } from '../../../src/trusted-hosts.ts';

function trustedHosts(...entries: string[]): TrustedHosts {
  const reading = readTrustedHosts(entries.join(','));
  if ('hosts' in reading) return reading.hosts;
  throw new Error(JSON.stringify(reading));
}

const refused = [
  'http://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://①②⑦.0.0.1/',
  'http://0.0.0.0/',
  'http://localhost/',
  'http://localhost./',
  'http://a.LOCALHOST/',
  'http://crm:8080/mcp',
  'http://crm./',
  'http://host.docker.internal:8080/',
  'http://HOST.Docker.Internal/',
  'http://gateway.docker.internal./',
  'http://host.containers.internal/',
  'http://db.default.svc/',
  'http://db.default.svc./',
  'http://db.default.SVC.cluster.local/',
  'http://db.default.svc.cluster.local../',
  'http://db.default.svc.acme.example/',
  'http://db。default。svc/',
  'http://db.default%2Esvc/',
  'http://cluster.local/',
  'http://10-1-2-3.default.pod.cluster.local/',
  'http://printer.local/',
  'http://db.default/',
  'http://db.kube-system/',
  'http://db.team1/',
  'http://router.lan/',
  'http://10.1.2.3/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://100.64.0.1/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://169.254.169.254/latest/meta-data/',
  'http://100.100.100.200/',
  'http://168.63.129.16/',
  'http://metadata.google.internal/',
  'http://metadata/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::8.8.8.8]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:1::]/',
  'http://[2001:db8::1]/',
  'http://[fc00::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fe80::1]/',
  'http://[ff02::1]/',
  'https://example.com:22/',
  'https://example.com:3306/',
  'https://example.com:0/',
  'https://user@example.com/',
  'https://user:pass@example.com/',
  'https://@example.com/',
  'https://example.com/#fragment',
  'https://example.com/#',
  'https://example.com\\@evil.org/',
  'https://exa mple.com/',
  'https://example.com/\t',
  'https://example.com/\0',
  ' https://example.com/',
  'https:example.com',
  'https:///example.com',
  'ftp://example.com/',
  'file:///etc/passwd',
  'javascript:alert(1)',
  '//example.com/',
  'example.com',
  '',
  `https://example.com/${'a'.repeat(2048)}`,
];

describe('an address', () => {
  it.each(refused)('is rejected: %s', (url) => {
    expect(outboundUrlFault(url, [])).toEqual(expect.any(String));
  });

  it.each([
    'https://example.com/mcp',
    'http://example.com',
    'https://example.com:8443/a?b=c',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'http://[::ffff:8.8.8.8]/',
    'https://bücher.example/',
    'https://svc.example.com/',
    'https://local.example.com/',
    'https://internal.example.co.uk/',
    'https://xn--bcher-kva.xn--p1ai/',
    'https://example.com./',
  ])('is accepted without being contacted: %s', (url) => {
    expect(outboundUrlFault(url, [])).toBeNull();
  });

  it('is rejected with an example of the setting that permits it', () => {
    const fault = outboundUrlFault('http://127.0.0.1:3001/mcp', []);
    expect(fault).toContain('TRUSTED_CUSTOM_HOSTS=127.0.0.1 in the environment of the server');
  });

  it('accepts a private address that is trusted by host, suffix, address or network, with or without a port', () => {
    const trusted = trustedHosts(
      '10.1.2.3:8000',
      '*.svc.cluster.local',
      'localhost',
      '192.168.0.0/16',
      '[::1]:9',
      'fd00:0::7',
    );
    const verdicts = {
      'http://10.1.2.3:8000/': true,
      'http://10.1.2.3:8001/': false,
      'http://10.1.2.4:8000/': false,
      'http://a.svc.cluster.local/': true,
      'http://localhost:8080/': true,
      'http://localhost:6379/': false,
      'http://192.168.77.1/': true,
      'http://[::1]:9/': true,
      'http://[::1]/': false,
      'http://[fd00::7]:8080/': true,
      'http://[fd00::8]:8080/': false,
      'http://svc.cluster.local/': false,
      'http://a.default.svc.cluster.local.:8080/': true,
      'http://10.1.2.3.evil.example:8000/': true,
      'http://192.168.0.1.:3306/': false,
    };
    const judged = Object.keys(verdicts).map((url) => [
      url,
      outboundUrlFault(url, trusted) === null,
    ]);
    expect(Object.fromEntries(judged)).toEqual(verdicts);
  });

  it('rejects a cloud metadata service, whatever network or suffix covers it', () => {
    const trusted = trustedHosts('169.254.0.0/16', '0.0.0.0/0', '::/0', '*.internal');
    for (const url of [
      'http://169.254.169.254/',
      'http://[::ffff:169.254.169.254]/',
      'http://[64:ff9b::169.254.169.254]/',
      'http://[2002:a9fe:a9fe::]/',
      'http://metadata.google.internal./',
      'http://[fd00:ec2::254]/',
    ]) {
      expect(outboundUrlFault(url, trusted)).toBe('must not name a cloud metadata service');
    }
  });

  it.each([
    '169.254.169.254',
    '169.254.169.254:80',
    'metadata.google.internal',
    'fd00:ec2::254',
    'fd00:ec2:0::254',
    '[::ffff:169.254.169.254]:80',
    '::ffff:a9fe:a9fe',
    '64:ff9b::169.254.169.254',
  ])('rejects a cloud metadata service in the list: %s', (entry) => {
    expect(readTrustedHosts(`10.0.0.0/8,${entry}`)).toEqual({ refused: [entry] });
  });

  it('never passes as an IPv4 address of a private network, whatever the number form', () => {
    const octet = fc.nat(255);
    const forms = fc.constantFrom('dotted', 'decimal', 'hex', 'mapped');
    fc.assert(
      fc.property(fc.constantFrom(10, 127), octet, octet, octet, forms, (a, b, c, d, form) => {
        const number = ((a * 256 + b) * 256 + c) * 256 + d;
        const host = {
          dotted: `${a}.${b}.${c}.${d}`,
          decimal: String(number),
          hex: `0x${number.toString(16)}`,
          mapped: `[::ffff:${a}.${b}.${c}.${d}]`,
        }[form];
        expect(outboundUrlFault(`https://${host}/`, [])).not.toBeNull();
      }),
    );
  });

  it('never makes the validation throw', () => {
    fc.assert(
      fc.property(fc.string(), fc.webUrl(), (text, url) => {
        const reading = readTrustedHosts(text);
        const trusted = 'hosts' in reading ? reading.hosts : [];
        expect(() => [
          outboundUrlFault(text, trusted),
          outboundUrlFault(`http://${text}`, trusted),
          outboundUrlFault(url, []),
        ]).not.toThrow();
      }),
    );
  });
});
