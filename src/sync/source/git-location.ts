/** Knows how a Git source is named, and which names are refused before git ever sees them. */
import { Failure } from '../../failure.ts';

/** `https://host/repo.git#ref:path`, taken apart. */
export interface GitLocation {
  /** Without ref, path and credentials. */
  readonly url: string;
  readonly protocol: 'https' | 'ssh';
  /** Branch, tag or commit id; null for the branch that the server calls its default. */
  readonly ref: string | null;
  /** Folder inside the repository, without slashes around it; '' for all of it. */
  readonly path: string;
}

const form = 'https://host/repo.git#ref:folder or ssh://git@host/repo.git#ref:folder';
const host = String.raw`(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?`;
const httpsUrl = new RegExp(`^https://${host}/[A-Za-z0-9_.~%/+-]+$`);
const sshUrl = new RegExp(`^ssh://(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?${host}/[A-Za-z0-9_.~/+-]+$`);
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

function parseAddress(address: string): Pick<GitLocation, 'url' | 'protocol'> {
  const scp = scpLike.exec(address);
  if (scp !== null) return { url: `ssh://${scp[1]}/${scp[2]}`, protocol: 'ssh' };
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(address)?.[1]?.toLowerCase();
  if (scheme !== 'https' && scheme !== 'ssh') {
    throw refused(
      `only https and ssh are allowed${scheme === undefined ? '' : `, not ${shown(scheme)}`}`,
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
