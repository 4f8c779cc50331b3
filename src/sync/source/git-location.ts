/** Knows how a Git source is named, and which names are refused before git ever sees them. */
import { Failure } from '../../failure.ts';

/** `https://host/repo.git#ref:path`, taken apart. */
export interface GitLocation {
  /** Without ref, path and credentials. */
  readonly url: string;
  /** `file` is a repository of this machine, bare or not, of which the commits are read. */
  readonly protocol: 'https' | 'ssh' | 'file';
  /** Branch, tag or commit id; null for the branch that the server calls its default. */
  readonly ref: string | null;
  /** Folder inside the repository, without slashes around it; '' for all of it. */
  readonly path: string;
}

const form =
  'https://host/repo.git#ref:folder, ssh://git@host/repo.git#ref:folder or file:///path/repo#ref:folder';
const host = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?`;
const httpsUrl = new RegExp(`^https://${host}/[A-Za-z0-9_.~%/+-]+$`);
const sshUrl = new RegExp(`^ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?${host}/[A-Za-z0-9_.~/+-]+$`);
/** As `file://$PWD` gives it, so that spaces may stand in it; `%23` is a `#`. */
const fileUrl = /^file:\/\/\/./;
/** `git@host:team/repo.git` */
const scpLike =
  /^([A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*):([A-Za-z0-9_.~][A-Za-z0-9_.~/+-]*)$/;

/** Whether a `--source` means Git and not a folder: it has a scheme, or the form `user@host:path`. */
export function isGitLocation(location: string): boolean {
  const [address = ''] = location.split('#');
  return (
    /^[A-Za-z][A-Za-z0-9+.-]*:(?:\/\/|:)/.test(address) || /^[^/\\\s]+@[^/\\\s]+:/.test(address)
  );
}

/** @throws Failure 5 with what is wrong; a credential in the URL is never repeated in it. */
export function parseGitLocation(location: string): GitLocation {
  const cut = location.indexOf('#');
  const address = cut < 0 ? location : location.slice(0, cut);
  const fragment = cut < 0 ? '' : location.slice(cut + 1);
  const colon = fragment.indexOf(':');
  const ref = colon < 0 ? fragment : fragment.slice(0, colon);
  const path = colon < 0 ? '' : fragment.slice(colon + 1).replace(/^\/+|\/+$/g, '');
  const { url, protocol } = parseAddress(address);
  if (ref !== '' && !isRef(ref)) throw refused(`"${shown(ref)}" is no branch, tag or commit id`);
  if (path !== '' && !isPath(path)) throw refused(`"${shown(path)}" is no folder of a repository`);
  return { url, protocol, ref: ref === '' ? null : ref, path };
}

/** The location in one line, for messages and for the record of who manages a resource. */
export function describeGit({ url, ref, path }: GitLocation): string {
  const fragment = `${ref ?? ''}${path === '' ? '' : `:${path}`}`;
  return fragment === '' ? url : `${url}#${fragment}`;
}

/** The same folder of the same repository at another branch, tag or commit. @throws Failure 5 */
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
      `only https, ssh and file are allowed${scheme === undefined ? '' : `, not ${shown(scheme)}`}`,
    );
  }
  const authority = /^[^/]*\/\/([^/]*)/.exec(address)?.[1] ?? '';
  const hasSecret = scheme === 'https' ? authority.includes('@') : /:[^@]*@/.test(authority);
  if (hasSecret) {
    throw refused('the URL holds credentials; give a token or key apart from it');
  }
  const pattern = scheme === 'https' ? httpsUrl : sshUrl;
  if (!pattern.test(address) || /\/\.\.?(?:\/|$)/.test(address)) {
    throw refused('the URL has a form that is not allowed');
  }
  return { url: address, protocol: scheme };
}

function parseFileUrl(url: string): Pick<GitLocation, 'url' | 'protocol'> {
  if (!fileUrl.test(url) || pathOf(url) === undefined) {
    throw refused('after file:// comes a path from the root, as in file:///srv/gateway.git');
  }
  return { url, protocol: 'file' };
}

/** The path that a `file` URL names, its `%XX` decoded as git does; undefined where they are none. */
export function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(url.slice('file://'.length));
    return /[\u0000-\u001f\u007f]/.test(path) ? undefined : path;
  } catch {
    return undefined;
  }
}

/** The rules of git-check-ref-format, and nothing that could be an option. */
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

function shown(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 80);
}
