// Every text whose contrast with its ground is below 4.5 to 1 (WCAG 2.1, 1.4.3).
() => {
  const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const paper = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const over = (colors) => {
    // The canvas blends whatever syntax the style gives, from the back to the front.
    paper.clearRect(0, 0, 1, 1);
    for (const color of colors) {
      paper.fillStyle = color;
      paper.fillRect(0, 0, 1, 1);
    }
    return [...paper.getImageData(0, 0, 1, 1).data];
  };
  const grounds = (node) => {
    const found = [];
    for (let at = node; at; at = at.parentElement) found.unshift(getComputedStyle(at).backgroundColor);
    return found;
  };
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || node.closest("svg, .unseen, .skip, [hidden], script") || !node.checkVisibility()) continue;
    const ground = grounds(node);
    const [front, back] = [over([...ground, getComputedStyle(node).color]), over(ground)].map(light);
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) weak.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return weak;
}
