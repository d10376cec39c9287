"""How shared trees and global models are written: JSON, text and pictures."""
