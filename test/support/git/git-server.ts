/**
 * Serves real Git repositories over https: the server program of Git, a certificate and a token.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPki } from '../callers/pki.ts';

export interface GitRepository {
  readonly url: string;
  /**
   * Commits the files (path to content, or to mode and content) and nothing else; returns the
   * commit id. The commit follows the branch, or replaces it with `force`.
   */
  commit(branch: string, files: Record<string, string | TreeFile>, how?: 'force'): string;
  /** Returns the text of a file at a branch or commit; null when there is none. */
  read(ref: string, path: string): string | null;
  /** Changes one file on top of a branch; returns the commit id. */
  change(branch: string, path: string, content: string): string;
  /** Runs git on the bare repository. */
  git(words: readonly string[], input?: string | Buffer): string;
}

interface TreeFile {
  readonly mode: string;
  readonly content: string;
}

export interface GitServer extends AsyncDisposable {
  readonly caFile: string;
  /** `METHOD path` of every request, and its credentials. */
  readonly requests: { readonly line: string; readonly authorization: string | undefined }[];
  /** The required password, when set. */
  token: string | undefined;
  /** When set, every request is redirected there. */
  redirectTo: string | undefined;
  /** When true, requests are accepted and never answered. */
  silent: boolean;
  /** When true, a fetch starts and never ends. */
  stallsPacks: boolean;
  repository(name: string): GitRepository;
}

const author = {
  GIT_AUTHOR_NAME: 'test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

interface Certificate {
  readonly cert: string;
  readonly key: string;
  /** The certificate of the issuer. */
  readonly authority: string;
}

/** Shared by all servers of a test file, because creating one takes six processes. */
let certificate: Certificate | undefined;

function issueCertificate(): Certificate {
  using pki = createPki();
  const authority = pki.authority('git');
  const altNames = 'DNS:localhost,DNS:git.test';
  const { cert, key } = authority.issue({ name: 'localhost', altNames });
  return { cert, key, authority: authority.cert };
}

/** Listens on any free port, and serves a new folder, by default; a given folder stays. */
export async function startGitServer({
  port: listenedPort = 0,
  root: givenRoot = null,
}: {
  readonly port?: number;
  readonly root?: string | null;
} = {}): Promise<GitServer> {
  certificate ??= issueCertificate();
  const { cert, key, authority } = certificate;
  const root = givenRoot ?? mkdtempSync(join(tmpdir(), 'gatewright-git-'));
  const caFile = join(root, 'authority.pem');
  writeFileSync(caFile, authority);
  const listener = createServer({ cert, key }, (request, response) => {
    const { authorization } = request.headers;
    server.requests.push({ line: `${request.method} ${request.url}`, authorization });
    if (server.silent) return;
    if (server.redirectTo !== undefined) {
      response.writeHead(302, { location: `${server.redirectTo}${request.url}` }).end();
    } else if (server.token !== undefined && !holds(authorization, server.token)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    } else {
      serve(root, request, response, server.stallsPacks);
    }
  });
  listener.listen(listenedPort, '127.0.0.1');
  await once(listener, 'listening');
  const base = `https://localhost:${(listener.address() as AddressInfo).port}`;
  const server: GitServer = {
    caFile,
    requests: [],
    token: undefined,
    redirectTo: undefined,
    silent: false,
    stallsPacks: false,
    repository: (name) => createRepository(join(root, `${name}.git`), `${base}/${name}.git`),
    [Symbol.asyncDispose]: async () => {
      listener.closeAllConnections();
      listener.close();
      await once(listener, 'close');
      if (givenRoot === null) rmSync(root, { recursive: true, force: true });
    },
  };
  return server;
}

/** Disables fsync: the repositories need not survive a crash of the machine. */
const configuration = `
[core]
\tfsync = none
[http]
\tuploadpack = true
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
`;

/** Creates the bare repository of a folder, which a server of its parent folder serves at the URL. */
export function createRepository(directory: string, url: string): GitRepository {
  const git = (words: readonly string[], input: string | Buffer = ''): string =>
    execFileSync('git', ['-C', directory, ...words], {
      input,
      env: { PATH: process.env.PATH, ...author },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
      .toString()
      .trim();
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', directory]);
  appendFileSync(join(directory, 'config'), configuration);
  const commit: GitRepository['commit'] = (branch, files, how) => {
    const ref = `refs/heads/${branch}`;
    const hasTip = existsSync(join(directory, ref));
    const head = [
      `commit ${ref}`,
      'mark :1',
      'committer test <test@example.com> now',
      'data 4',
      'test',
      ...(hasTip ? [`from ${how === 'force' ? '0'.repeat(40) : `${ref}^0`}`] : []),
      'deleteall',
    ];
    const changes = Object.entries(files).map(([path, file]) => {
      const { mode, content } = typeof file === 'string' ? { mode: '100644', content: file } : file;
      if (mode === '160000') return `M ${mode} ${content} ${path}`;
      return `M ${mode} inline ${path}\ndata ${Buffer.byteLength(content)}\n${content}`;
    });
    const stream = [...head, ...changes, '', 'get-mark :1', ''].join('\n');
    return git(['fast-import', '--quiet', '--force', '--date-format=now'], stream);
  };
  const change: GitRepository['change'] = (branch, path, content) => {
    const ref = `refs/heads/${branch}`;
    const head = [`commit ${ref}`, 'mark :1', 'committer test <test@example.com> now'];
    const data = ['data 4', 'test', `from ${ref}^0`, `M 100644 inline ${path}`];
    const end = [`data ${Buffer.byteLength(content)}`, content, 'get-mark :1', ''];
    const stream = [...head, ...data, ...end].join('\n');
    return git(['fast-import', '--quiet', '--date-format=now'], stream);
  };
  const read: GitRepository['read'] = (ref, path) => {
    try {
      const words = ['-C', directory, 'cat-file', 'blob', `${ref}:${path}`];
      return execFileSync('git', words, { stdio: ['ignore', 'pipe', 'ignore'] }).toString();
    } catch {
      return null;
    }
  };
  return { url, commit, git, read, change };
}

function holds(authorization: string | undefined, token: string): boolean {
  const credentials = Buffer.from((authorization ?? '').replace(/^Basic /, ''), 'base64');
  return credentials.toString().split(':')[1] === token;
}

/** Runs git-http-backend as a CGI program. */
function serve(
  root: string,
  request: IncomingMessage,
  response: ServerResponse,
  stallsPacks: boolean,
): void {
  const url = new URL(request.url ?? '/', 'https://localhost');
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.on('close', () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf('\r\n\r\n');
    for (const line of output.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(': ');
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    const body = output.subarray(end + 4);
    const pack = stallsPacks ? body.indexOf('packfile\n') : -1;
    if (pack < 0) response.end(body);
    else response.write(body.subarray(0, pack + 'packfile\n'.length));
  });
}
