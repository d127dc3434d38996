//! One result, many writers: terminal, Markdown, JSON, SVG and HTML.
