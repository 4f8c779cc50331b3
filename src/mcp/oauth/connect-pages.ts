/** Writes the pages on which a user connects an account. */
import { hash } from 'node:crypto';

const style =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}' +
  'dt{font-weight:600}dd{margin:0 0 .5rem;overflow-wrap:anywhere}' +
  'input{font:inherit;width:100%;padding:.4rem;box-sizing:border-box}' +
  'button,.go{font:inherit;display:inline-block;margin-top:1rem;padding:.4rem 1rem}';

/** Text with markup that is safe. */
class Markup {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes every value that is no markup itself. */
function html(parts: TemplateStringsArray, ...values: readonly (string | Markup)[]): Markup {
  const escaped = values.map((value) =>
    value instanceof Markup ? value.text : value.replace(/[&<>"']/g, (one) => entities[one]!),
  );
  return new Markup(parts.reduce((text, part, at) => text + escaped[at - 1]! + part));
}

function page(title: string, content: Markup): string {
  const head = html`<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
  const body = html`<h1>${title}</h1>${content}`;
  return `<!doctype html><html lang="en"><head>${head.text}<style>${style}</style></head><body>${body.text}</body></html>`;
}

/** Asks for the key that proves which user is at the browser. */
export function keyPage(slug: string, fault: string | null): string {
  const notice = fault === null ? html`` : html`<p role="alert"><strong>${fault}</strong></p>`;
  return page(
    `Connect your account to ${slug}`,
    html`<p>The gateway will use your account at the MCP server <strong>${slug}</strong> for the calls of your
keys. Enter one of your own gateway keys to show who you are. It is not passed on.</p>${notice}
<form method="post" autocomplete="off"><label>Gateway key <input name="key" type="password" required
autofocus></label><button>Continue</button></form>`,
  );
}

export interface ConsentFacts {
  readonly slug: string;
  readonly resource: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string | null;
  /** Where the user authorizes the gateway. */
  readonly url: string;
}

/** Shows what will be authorized, and where, before the browser goes there. */
export function consentPage(facts: ConsentFacts): string {
  const { slug, resource, issuer, clientId, redirectUri, scope, url } = facts;
  return page(
    `Authorize the gateway for ${slug}`,
    html`<p>Continue only if you began this yourself.</p><dl><dt>Server</dt><dd>${resource}</dd>
<dt>Sign-in</dt><dd>${issuer}</dd><dt>Permissions</dt><dd>${scope ?? 'those that the server grants by default'}</dd>
<dt>Client</dt><dd>${clientId}</dd><dt>Returns to</dt><dd>${redirectUri}</dd></dl>
<a class="go" href="${url}" rel="noreferrer">Continue to ${new URL(url).host}</a>`,
  );
}

export function connectedPage(slug: string): string {
  return page(
    `Connected to ${slug}`,
    html`<p>Your MCP client can use the server now. You can close this page.</p>`,
  );
}

export function faultPage(fault: string): string {
  return page(
    'Not connected',
    html`<p>The account was not connected: ${fault}.</p><p>Call the MCP server again to begin anew.</p>`,
  );
}

/** Nothing but the style runs or loads, no other site embeds a page, and none learns its address. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${hash('sha256', style, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
