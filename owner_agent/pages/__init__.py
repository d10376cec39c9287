"""The owner's pages in a browser: the commands' answers, without true values, on loopback."""
