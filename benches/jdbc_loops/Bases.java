import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Writes classes whose every method throws, for StubDriver to extend. Argument: a folder. */
public final class Bases {
    public static void main(String[] arguments) throws Exception {
        for (Class<?> type : List.of(Connection.class, PreparedStatement.class, ResultSet.class, ResultSetMetaData.class)) {
            String name = "No" + type.getSimpleName();
            String methods = Stream.of(type.getMethods())
                    .filter(method -> Modifier.isAbstract(method.getModifiers()))
                    .map(Bases::written)
                    .distinct()
                    .collect(Collectors.joining());
            String text = "class " + name + " implements " + type.getName() + " {\n" + methods + "}\n";
            Files.writeString(Path.of(arguments[0], name + ".java"), text);
        }
    }

    private static String written(Method method) {
        Class<?>[] types = method.getParameterTypes();
        String parameters = IntStream.range(0, types.length)
                .mapToObj(at -> types[at].getCanonicalName() + " p" + at)
                .collect(Collectors.joining(", "));
        String generic = method.getTypeParameters().length > 0 ? "<T> T " : method.getReturnType().getCanonicalName() + " ";
        String given = method.getTypeParameters().length > 0 ? parameters.replace("java.lang.Class", "Class<T>") : parameters;
        return "public " + generic + method.getName() + "(" + given + ")"
                + " { throw new UnsupportedOperationException(); }\n";
    }
}
