/**
 * Checks that a webhook counts only when signed with the shared secret, and only for watched refs.
 */
import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../../src/secret.ts';
import { readWebhook, type Webhook } from '../../../../src/sync/daemon/webhook.ts';

const key = 'a-secret-of-enough-length';
const secret = new Secret(key, 'test');
const now = Date.UTC(2027, 0, 4, 8);
const push = JSON.stringify({ ref: 'refs/heads/main', repository: { default_branch: 'main' } });

const hmac = (body: string, by: string | Buffer = key): Buffer =>
  createHmac('sha256', by).update(body).digest();

function standard(body: string, options: { at?: number; by?: string | Buffer } = {}): Webhook {
  const timestamp = String(Math.floor((options.at ?? now) / 1000));
  const signature = hmac(`msg_1.${timestamp}.${body}`, options.by).toString('base64');
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp };
  return {
    headers: { ...headers, 'webhook-signature': `v1,AAAA v1,${signature}` },
    body: Buffer.from(body),
  };
}

const forms = {
  github: (body: string, by?: string): Webhook => ({
    headers: { 'x-hub-signature-256': `sha256=${hmac(body, by).toString('hex')}` },
    body: Buffer.from(body),
  }),
  gitea: (body: string, by?: string): Webhook => ({
    headers: { 'x-gitea-signature': hmac(body, by).toString('hex') },
    body: Buffer.from(body),
  }),
  gitlab: (body: string, by = key): Webhook => ({
    headers: { 'x-gitlab-token': by },
    body: Buffer.from(body),
  }),
  generic: (body: string, by?: string): Webhook => ({
    headers: { 'x-gatewright-signature-256': `sha256=${hmac(body, by).toString('hex')}` },
    body: Buffer.from(body),
  }),
  standard: (body: string, by?: string): Webhook => standard(body, by === undefined ? {} : { by }),
};

const read = (hook: Webhook, refs: readonly (string | null)[] = ['main']) =>
  readWebhook(hook, secret, refs, now);

describe.each(Object.keys(forms) as (keyof typeof forms)[])('a webhook of the form %s', (form) => {
  const sign = forms[form];

  it('is accepted with the right signature', () => {
    expect(read(sign(push))).toEqual({ form, isDue: true });
  });

  it('is rejected with another secret, a partial signature, none, and an empty one', () => {
    expect(read(sign(push, 'another-secret-of-length'))).toBeNull();
    const { headers, body } = sign(push);
    for (const name of Object.keys(headers)) {
      const text = String(headers[name]);
      for (const wrong of ['', text.slice(0, -4), `${text}0`, `0${text}x`, 'sha256=', '\0']) {
        if (name === 'webhook-id' && wrong === '\0') continue;
        expect(
          read({ headers: { ...headers, [name]: wrong }, body }),
          `${name} ${wrong}`,
        ).toBeNull();
      }
    }
    expect(read({ headers: {}, body })).toBeNull();
  });

  it('is rejected with another body, unless the proof is the secret itself', () => {
    const { headers } = sign(push);
    const answer = read({ headers, body: Buffer.from(`${push} `) });
    expect(answer === null).toBe(form !== 'gitlab');
  });
});

describe('a signed time', () => {
  it.each([-301_000, 301_000])(
    'rejects %i ms from now, so that a webhook cannot be replayed',
    (ms) => {
      expect(read(standard(push, { at: now + ms }))).toBeNull();
    },
  );

  it('accepts five minutes of difference, and decodes a secret with the prefix whsec_ as base64', () => {
    expect(read(standard(push, { at: now - 299_000 }))).toMatchObject({ isDue: true });
    const raw = Buffer.alloc(24, 5);
    const known = new Secret(`whsec_${raw.toString('base64')}`, 'test');
    expect(readWebhook(standard(push, { by: raw }), known, ['main'], now)).not.toBeNull();
  });
});

describe('the ref of a push', () => {
  const isDue = (payload: unknown, refs: readonly (string | null)[]) =>
    read(forms.github(JSON.stringify(payload)), refs)?.isDue;
  const to = (ref: string) => ({ ref, repository: { default_branch: 'main' } });

  it.each([
    ['refs/heads/main', ['main'], true],
    ['refs/heads/main', [null], true],
    ['refs/heads/dev', [null], false],
    ['refs/heads/dev', ['main'], false],
    ['refs/heads/dev', ['main', 'dev'], true],
    ['refs/tags/v1', ['v1'], true],
    ['refs/heads/main-2', ['main'], false],
    ['refs/heads/anything', [], true],
  ] as const)('%s triggers a cycle at %j: %s', (ref, refs, due) => {
    expect(isDue(to(ref), refs)).toBe(due);
  });

  it('ignores a push without a ref, and events of other senders', () => {
    expect(isDue({ zen: 'ping' }, ['main'])).toBe(false);
    expect(read(forms.generic(''), ['main'])).toEqual({ form: 'generic', isDue: true });
  });

  it('is found in the form of GitHub, and in the project of GitLab for the default branch', () => {
    const body = new URLSearchParams({ payload: push }).toString();
    const hook = forms.github(body);
    const headers = { ...hook.headers, 'content-type': 'application/x-www-form-urlencoded' };
    expect(read({ ...hook, headers })).toMatchObject({ isDue: true });
    const ofGitlab = { ref: 'refs/heads/dev', project: { default_branch: 'main' } };
    expect(read(forms.gitlab(JSON.stringify(ofGitlab)), [null])?.isDue).toBe(false);
  });

  it.each(['[]', 'null', '{"ref":7}', '{', '{"__proto__":{"ref":"refs/heads/main"}}'])(
    'finds no ref in %s',
    (body) => {
      expect(read(forms.github(body))).toEqual({ form: 'github', isDue: false });
    },
  );
});
