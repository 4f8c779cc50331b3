/** Converts pictures, sound and files between chats and Gemini. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import * as rules from './chat-to-gemini-rules.ts';

interface DataUrl {
  readonly mediaType: string;
  readonly base64: string;
}

/** Null for other URLs. */
function dataUrlOf(url: string): DataUrl | null {
  const head = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.+-]+)*;base64,/i.exec(url.slice(0, 256));
  if (head === null) return null;
  return { mediaType: head[1]!.toLowerCase(), base64: url.slice(head[0].length) };
}

const typesByExtension = new Map([
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['png', 'image/png'],
  ['webp', 'image/webp'],
]);

export function pictureToGemini(part: DocumentNode): Json {
  part.follow(rules.partShape.kinds.image_url);
  const image = part.at('image_url').follow(rules.imageShape.kinds['']);
  const url = image.at('url').text();
  const data = dataUrlOf(url);
  if (data !== null) return inlineData(data);
  const extension = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  const mimeType = typesByExtension.get(extension);
  return { fileData: { ...(mimeType === undefined ? {} : { mimeType }), fileUri: url } };
}

export function fileToGemini(part: DocumentNode): Json {
  const { file: ofPart } = rules.partShape.kinds;
  const file = part.follow(ofPart).at('file').follow(rules.fileShape.kinds['']);
  const data = dataUrlOf(file.at('file_data').text());
  if (data === null) return file.at('file_data').refuse('must be a data URL with base64');
  return inlineData(data);
}

export function soundToGemini(part: DocumentNode): Json {
  const sound = part.follow(rules.partShape.kinds.input_audio).at('input_audio');
  sound.follow(rules.soundShape.kinds['']);
  return inlineData({
    mediaType: `audio/${sound.at('format').text()}`,
    base64: sound.at('data').text(),
  });
}

function inlineData({ mediaType, base64 }: DataUrl): Json {
  return { inlineData: { mimeType: mediaType, data: base64 } };
}

/** Converts the bytes in a part of Gemini to a part of a chat. */
export function bytesToChat(blob: DocumentNode): Json {
  blob.only('mimeType', 'data', 'displayName');
  const mimeType = blob.at('mimeType').text();
  const data = blob.at('data').text();
  if (mimeType.startsWith('image/')) return pictureOf(`data:${mimeType};base64,${data}`);
  const sound = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(mimeType)?.[1];
  if (sound !== undefined) {
    const format = sound === 'mpeg' ? 'mp3' : sound;
    return { type: 'input_audio', input_audio: { data, format } };
  }
  const name = blob.at('displayName');
  const filename = name.isAbsent ? `file.${mimeType.split('/')[1]!}` : name.text();
  return { type: 'file', file: { filename, file_data: `data:${mimeType};base64,${data}` } };
}

/** Only pictures can be named by their address. */
export function addressToChat(file: DocumentNode): Json {
  file.only('mimeType', 'fileUri', 'displayName');
  const uri = file.at('fileUri').text();
  const type = file.at('mimeType');
  const isPicture = type.isAbsent ? /\.(?:png|jpe?g|webp|gif)$/i.test(uri) : isImage(type.text());
  if (!isPicture || !/^https?:/i.test(uri)) file.refuseUnsupported();
  return pictureOf(uri);
}

function isImage(type: string): boolean {
  return type.startsWith('image/');
}

function pictureOf(url: string): Json {
  return { type: 'image_url', image_url: { url } };
}
