/** Parses Git locations, and rejects dangerous ones before git receives them. */
import { Failure } from '../../failure.ts';

/** The parts of `https://host/repo.git#ref:path`. */
export interface GitLocation {
  /** Without ref, path and credentials. */
  readonly url: string;
  /** `file` is a local repository, bare or not; its commits are read. */
  readonly protocol: 'https' | 'ssh' | 'file';
  /** Branch, tag or commit id; null for the server's default branch. */
  readonly ref: string | null;
  /** Folder in the repository without surrounding slashes; '' for all of it. */
  readonly path: string;
}

const form =
  'https://host/repo.git#ref:folder, ssh://git@host/repo.git#ref:folder or file:///path/repo#ref:folder';
const host = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?`;
const httpsUrl = new RegExp(`^https://${host}/[A-Za-z0-9_.~%/+-]+$`);
const sshUrl = new RegExp(`^ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?${host}/[A-Za-z0-9_.~/+-]+$`);
/** In the form of `file://$PWD`, which may contain spaces; `%23` is a `#`. */
const fileUrl = /^file:\/\/\/./;
/** `git@host:team/repo.git` */
const scpLike =
  /^([A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*):([A-Za-z0-9_.~][A-Za-z0-9_.~/+-]*)$/;

/**
 * Returns whether a source is Git and not a folder: it has a scheme, or the form `user@host:path`.
 */
export function isGitLocation(location: string): boolean {
  const [address = ''] = location.split('#');
  return (
    /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/|:)/.test(address) || /^[^/\\\s]+@[^/\\\s]+:/.test(address)
  );
}

/** @throws Failure 5 with the reason; a credential in the URL is never repeated. */
export function parseGitLocation(location: string): GitLocation {
  const cut = location.indexOf('#');
  const address = cut < 0 ? location : location.slice(0, cut);
  const fragment = cut < 0 ? '' : location.slice(cut + 1);
  const colon = fragment.indexOf(':');
  const ref = colon < 0 ? fragment : fragment.slice(0, colon);
  const path = colon < 0 ? '' : fragment.slice(colon + 1).replace(/^\/+|\/+$/g, '');
  const { url, protocol } = parseAddress(address);
  if (ref !== '' && !isRef(ref))
    throw refused(`"${printable(ref)}" is not a branch, tag or commit id`);
  if (path !== '' && !isPath(path))
    throw refused(`"${printable(path)}" is not a folder of a repository`);
  return { url, protocol, ref: ref === '' ? null : ref, path };
}

/** Formats the location on one line, for messages and for resource records. */
export function describeGit({ url, ref, path }: GitLocation): string {
  const fragment = `${ref ?? ''}${path === '' ? '' : `:${path}`}`;
  return fragment === '' ? url : `${url}#${fragment}`;
}

/** Returns the same folder of the repository at another branch, tag or commit. @throws Failure 5 */
export function gitLocationAt(location: string, ref: string): string {
  return describeGit({ ...parseGitLocation(location), ref });
}

function parseAddress(address: string): Pick<GitLocation, 'url' | 'protocol'> {
  const scp = scpLike.exec(address);
  if (scp !== null) return { url: `ssh://${scp[1]}/${scp[2]}`, protocol: 'ssh' };
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(address)?.[1]?.toLowerCase();
  if (scheme === 'file') return parseFileUrl(address);
  if (scheme !== 'https' && scheme !== 'ssh') {
    throw refused(
      `only https, ssh and file are allowed${scheme === undefined ? '' : `, not ${printable(scheme)}`}`,
    );
  }
  const authority = /^[^/]*\/\/([^/]*)/.exec(address)?.[1] ?? '';
  const hasSecret = scheme === 'https' ? authority.includes('@') : /:[^@]*@/.test(authority);
  if (hasSecret) {
    throw refused('the URL contains credentials; set a token or key separately');
  }
  const pattern = scheme === 'https' ? httpsUrl : sshUrl;
  if (!pattern.test(address) || /\/\.\.?(?:\/|$)/.test(address)) {
    throw refused('the form of the URL is not allowed');
  }
  return { url: address, protocol: scheme };
}

function parseFileUrl(url: string): Pick<GitLocation, 'url' | 'protocol'> {
  if (!fileUrl.test(url) || filePathOf(url) === undefined) {
    throw refused('file:// needs an absolute path, as in file:///srv/gateway.git');
  }
  return { url, protocol: 'file' };
}

/** Returns the path of a `file` URL with `%XX` decoded as git does; undefined when invalid. */
export function filePathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(url.slice('file://'.length));
    return /[\u0000-\u001f\u007f]/.test(path) ? undefined : path;
  } catch {
    return undefined;
  }
}

/** The rules of git-check-ref-format, without anything that could be an option. */
function isRef(ref: string): boolean {
  return (
    /^[A-Za-z0-9][\w./-]{0,200}$/.test(ref) && !/\.\.|\/\/|\/\.|\.lock(?:\/|$)|[./]$/.test(ref)
  );
}

function isPath(path: string): boolean {
  const parts = path.split('/');
  return (
    /^[A-Za-z0-9_][\w .+/-]{0,500}$/.test(path) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/^\.git$/i.test(part))
  );
}

function refused(reason: string): Failure {
  return new Failure(
    'invalidInput',
    `The Git source cannot be used: ${reason}.\nIts form is ${form}`,
  );
}

function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 80);
}
